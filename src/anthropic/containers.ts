import { randomUUID } from 'node:crypto'
import { InvalidInputError } from '../errors.ts'
import { upstreamFailed } from '../files/anthropic-errors.ts'
import { ownerIn, ownersSeenBy, scopeOfOwner, timeText } from '../files/items.ts'
import type { FileScope } from '../files/types.ts'
import { CONTAINER_PLACES, containerKey, type Key, providerClaimKey, providerIdPartition } from '../table/keys.ts'
import { type Item, NEW_ITEM, type Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import { hashText } from '../text.ts'

/** A container of hosted code execution. Times are in milliseconds since the epoch. */
export interface ContainerRecord {
  id: string
  scope: FileScope
  createdAt: number
  /** To the minute: a use within one after the last is not noted. */
  lastUsedAt: number
}

export interface ContainerPage {
  /** The newest first. */
  containers: ContainerRecord[]
  nextPage: string | null
}

export interface ContainersContext {
  table: Table
  scope: Scope
  /** The owner's text of the user. */
  user: string
  now: () => number
}

const DAY_MS = 86_400_000

/** How long after its creation Anthropic can restore a container. */
export const CONTAINER_LIFE_MS = 30 * DAY_MS

/** How long after that it is still known whose it was, so that a conversation can go on in a new one. */
const REMEMBERED_MS = 60 * DAY_MS

const TOUCH_MS = 60_000
const PAGE_SIZE = { most: 100, default: 20 }
const idPattern = /^[A-Za-z0-9_-]{1,200}$/
const placePattern = /^t#\d{15}#[A-Za-z0-9_-]{1,200}$/

/** Where the container is recorded that the user, in this scope, calls so; undefined for what is no id. */
export function containerKeyOf({ scope, user }: ContainersContext, inScope: FileScope, id: string): Key | undefined {
  return idPattern.test(id) ? containerKey(scope, hashText(ownerIn(inScope, user)), id) : undefined
}

/** Undefined when it was forgotten. */
export function readContainer(item: Item, now: number): ContainerRecord | undefined {
  const { id, inScope, createdAt, lastUsedAt } = item as unknown as ContainerRecord & { inScope: FileScope }
  if (now >= createdAt + CONTAINER_LIFE_MS + REMEMBERED_MS) return undefined
  return { id, scope: inScope, createdAt, lastUsedAt }
}

/**
 * Records a container that Anthropic has started, in one write.
 * @returns false when it belongs to somebody else
 */
export async function addContainer(context: ContainersContext, inScope: FileScope, id: string): Promise<boolean> {
  const { table, scope, user, now } = context
  const key = containerKeyOf(context, inScope, id)
  if (!key) throw upstreamFailed(new Error('The provider gave a container an id that is none.'))
  const createdAt = now()
  const ttl = Math.ceil((createdAt + CONTAINER_LIFE_MS + REMEMBERED_MS) / 1_000)
  const attributes = { id, inScope, createdAt, lastUsedAt: createdAt, ttl }
  const place = { pk: key.pk, sk: `${CONTAINER_PLACES}${timeText(createdAt)}#${id}` }
  const claim = {
    ...providerClaimKey(id),
    tenant: scope.tenant,
    project: scope.project,
    owner: ownerIn(inScope, user),
    ttl,
  }
  const actions = [
    table.transactPut({ ...key, ...attributes }),
    table.transactPut({ ...place, ...attributes }),
    table.transactPut(claim, NEW_ITEM),
  ]
  const token = randomUUID()
  const result = await retryTransient(() => table.transact(actions, token))
  if (result.done) return true
  // Another request of the same owner may have been first.
  const first = result.refused.at(-1)?.item
  return first?.tenant === claim.tenant && first.project === claim.project && first.owner === claim.owner
}

/** Notes that a container was used. */
export async function touchContainer(context: ContainersContext, container: ContainerRecord): Promise<void> {
  const at = context.now()
  const key = containerKeyOf(context, container.scope, container.id)
  if (!key || at < container.lastUsedAt + TOUCH_MS) return
  await retryTransient(() =>
    context.table.update(key, {
      expression: 'SET #used = :at',
      condition: 'attribute_exists(pk) AND #used < :at',
      names: { '#used': 'lastUsedAt' },
      values: { ':at': at },
    }),
  )
}

/**
 * The containers of the user and of the app that can still be used, in three reads.
 * @throws InvalidInputError naming `limit` or `page`
 */
export async function listContainers(
  context: ContainersContext,
  { limit = PAGE_SIZE.default, page }: { limit?: number | undefined; page?: string | undefined },
): Promise<ContainerPage> {
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_SIZE.most) {
    throw new InvalidInputError('limit', `limit must be a whole number from 1 to ${PAGE_SIZE.most}.`)
  }
  const after = page === undefined ? undefined : readPage(page)
  const lists = await Promise.all(ownersSeenBy(context.user).map((owner) => newestOf(context, owner, limit + 1, after)))
  const found = lists.flat().sort((left, right) => (placeOf(left) < placeOf(right) ? 1 : -1))
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return {
    containers: await withLastUse(context, shown),
    nextPage: found.length > limit && last ? writePage(placeOf(last)) : null,
  }
}

async function newestOf(
  { table, scope, now }: ContainersContext,
  owner: string,
  count: number,
  after: string | undefined,
): Promise<ContainerRecord[]> {
  const options = { prefix: CONTAINER_PLACES, reverse: true, pageSize: count, ...(after !== undefined && { after }) }
  const oldest = now() - CONTAINER_LIFE_MS
  const found: ContainerRecord[] = []
  for await (const items of table.query(providerIdPartition(scope, hashText(owner)), options)) {
    for (const item of items) {
      const container = readContainer({ ...item, inScope: scopeOfOwner(owner) }, now())
      if (!container || container.createdAt <= oldest) return found
      found.push(container)
    }
    if (found.length >= count) break
  }
  return found
}

/** The list says when containers began, each container when it was used. */
async function withLastUse(context: ContainersContext, shown: ContainerRecord[]): Promise<ContainerRecord[]> {
  const keys = shown.map((container) => containerKeyOf(context, container.scope, container.id)).filter((key) => !!key)
  if (keys.length === 0) return shown
  const items = await retryTransient(() => context.table.batchGet(keys))
  const lastUses = new Map(items.map((item) => [`${item.inScope}#${item.id}`, item.lastUsedAt as number]))
  return shown.map((container) => ({
    ...container,
    lastUsedAt: lastUses.get(`${container.scope}#${container.id}`) ?? container.lastUsedAt,
  }))
}

function placeOf({ createdAt, id }: ContainerRecord): string {
  return `${CONTAINER_PLACES}${timeText(createdAt)}#${id}`
}

function writePage(place: string): string {
  return Buffer.from(place).toString('base64url')
}

function readPage(page: string): string {
  const place = Buffer.from(page, 'base64url').toString()
  if (placePattern.test(place) && writePage(place) === page) return place
  throw new InvalidInputError('page', 'page must be the next_page of an earlier list.')
}
