import { ForbiddenError, NotFoundError } from '../../src/errors.ts'
import { allows, createKeyStore } from '../../src/keys/store.ts'
import type { ApiKeyRecord, KeyBinding, KeyLookup, KeyStore } from '../../src/keys/types.ts'
import { hasRight } from '../shared/access.ts'
import { action } from '../shared/action.ts'
import { json, noContent } from '../shared/answer.ts'
import { type ApiHandler, createApiHandler } from '../shared/api.ts'
import { bodyText } from '../shared/body-text.ts'
import type { HandlerConfig } from '../shared/config.ts'
import { fixedJson } from '../shared/fixed-json.ts'
import type { Principal } from '../shared/request.ts'
import { timestamp } from '../shared/timestamp.ts'
import { ROUTES } from './routes.ts'
import { create, list, revoke } from './schemas.ts'

/** Keys of a page: with as many bindings as may be, they are within what a function answers. */
const PAGE_KEYS = 100

/** The keys service. */
export function createHandler(config: HandlerConfig): ApiHandler {
  return createServiceHandler(createKeyStore(config))
}

/** The same over any store. A caller has to do only with keys that reach no further than the caller's own. */
export function createServiceHandler(keys: KeyStore & KeyLookup): ApiHandler {
  return createApiHandler({
    routes: ROUTES,
    body: [bodyText(), fixedJson()],
    actions: {
      create: action(create, async (input, { principal }) => {
        const grants = input.rights.every((right) => hasRight(principal, right))
        if (!grants || !covers(principal, input.bindings)) throw new ForbiddenError()
        const { key, record } = await keys.create(input)
        return json(201, { key, record: shown(record) })
      }),
      list: action(list, async ({ page = '' }, { principal }) => {
        const records = await keys.list()
        const rest = records.filter((record) => placeOf(record) > page && covers(principal, record.bindings))
        const shownRecords = rest.slice(0, PAGE_KEYS)
        const last = shownRecords.at(-1)
        return json(200, {
          keys: shownRecords.map(shown),
          next_page: last && shownRecords.length < rest.length ? placeOf(last) : null,
        })
      }),
      revoke: action(revoke, async ({ id }, { principal }) => {
        const record = await keys.get(id)
        if (!record || !covers(principal, record.bindings)) throw new NotFoundError('There is no such key.')
        await keys.revoke(id)
        return noContent()
      }),
    },
  })
}

/** Where a key stands in the list: texts of it sort as the list does. */
function placeOf({ createdAt, id }: ApiKeyRecord): string {
  return `${timestamp(createdAt)}.${id}`
}

/** Whether each binding lies within what the caller may reach; only `*` holds `*`. */
function covers(caller: Principal, bindings: readonly KeyBinding[]): boolean {
  return bindings.every((binding) => caller.bindings.every((outer) => allows(outer, binding)))
}

function shown({ id, name, role, bindings, rights, createdAt, revokedAt }: ApiKeyRecord) {
  return {
    id,
    name,
    role,
    bindings,
    rights,
    created_at: timestamp(createdAt),
    ...(revokedAt !== undefined && { revoked_at: timestamp(revokedAt) }),
  }
}
