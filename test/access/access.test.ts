import type { APIGatewayProxyEvent } from 'aws-lambda'
import { describe, expect, it } from 'vitest'
import { createServiceHandler } from '../../lambdas/keys/handler.ts'
import { hasRight, ownerText } from '../../lambdas/shared/access.ts'
import { type Caller, type CallerContext, writeCaller } from '../../lambdas/shared/caller.ts'
import type { CreateKeyInput } from '../../src/keys/types.ts'
import { call, errorOf, proxyEvent } from '../http/support/events.ts'
import { head, recordingHandler } from '../http/support/recording.ts'

const everywhere = [{ tenant: '*', project: '*' }]
const acme = [{ tenant: 'acme', project: '*' }]
const caller: Caller = { kind: 'key', id: 'k', role: 'writer', bindings: [everywhere], rights: [], denied: false }

/** An event as the gateway makes it of what the authorizer says. */
function eventOf(context: CallerContext, input: Parameters<typeof proxyEvent>[0] = head): APIGatewayProxyEvent {
  const event = proxyEvent(input)
  return { ...event, requestContext: { ...event.requestContext, authorizer: context } } as APIGatewayProxyEvent
}

const statusOf = async (changes: Partial<Caller>, headers = {}) => {
  const { handler } = recordingHandler()
  return (await call(handler, eventOf(writeCaller({ ...caller, ...changes }), { ...head, headers }))).status
}

describe('a caller', () => {
  it('is let in where every list of bindings holds the scope', async () => {
    const other = [{ tenant: 'other', project: '*' }]
    expect(await statusOf({ bindings: [acme, everywhere] })).toBe(200)
    expect(await statusOf({ bindings: [acme, other] })).toBe(403)
    expect(await statusOf({ bindings: [other, acme] })).toBe(403)
    expect(await statusOf({ bindings: [everywhere, []] })).toBe(403)
    expect(await statusOf({ bindings: [[]] })).toBe(403)
    expect(await statusOf({ bindings: [] })).toBe(403)
  })

  it('is refused without a role, and where the identity provider denies', async () => {
    expect(await statusOf({ role: null })).toBe(403)
    expect(await statusOf({ denied: true })).toBe(403)
  })

  it('is refused for the tenancy headers before anything else', async () => {
    const headers = { 'X-Sandbox-Project-Id': '' }
    expect(await statusOf({ role: null, denied: true, bindings: [] }, headers)).toBe(400)
    const { handler } = recordingHandler()
    expect((await call(handler, eventOf(writeCaller('unavailable'), { ...head, headers }))).status).toBe(400)
  })

  it('may try again when the identity provider is away', async () => {
    const { handler } = recordingHandler()
    const answer = await call(handler, eventOf(writeCaller('unavailable')))
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(errorOf(answer)).toEqual({ code: 'unavailable', message: expect.stringContaining('identity provider') })
  })

  it.each<CallerContext>([
    {},
    { unavailable: 'false' },
    { ...writeCaller(caller), kind: 'root' },
    { ...writeCaller(caller), role: 'root' },
    { ...writeCaller(caller), bindings: '{}' },
    { ...writeCaller(caller), rights: 'null' },
  ])('that no authorizer of ours has let in is unauthenticated, with the challenge: %j', async (context) => {
    const { handler } = recordingHandler()
    const answer = await call(handler, eventOf(context))
    expect(answer).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.stringMatching(/^Bearer realm=/) },
    })
  })
})

it('has a right when it is among its rights', () => {
  expect(hasRight({ rights: ['act_for_users'] }, 'act_for_users')).toBe(true)
  expect(hasRight({ rights: ['act_for_users'] }, 'act_as_sandbox')).toBe(false)
})

it('owns things under a text that no caller of the other kind has', () => {
  expect(ownerText({ kind: 'user', id: 'k' })).toBe('user:k')
  expect(ownerText({ kind: 'key', id: 'k' })).toBe('key:k')
})

it('gives to keys those rights only that it has', async () => {
  const created: CreateKeyInput[] = []
  const handler = createServiceHandler({
    create: async (input) => {
      created.push(input)
      return { key: 'text', record: { ...input, id: 'new', rights: [...(input.rights ?? [])], createdAt: 0 } }
    },
    get: async () => null,
    list: async () => [],
    revoke: async () => undefined,
  })
  const create = (rights: Caller['rights'], given: string[]) => {
    const context = writeCaller({ ...caller, role: 'platform', rights })
    const body = { name: 'n', role: 'writer', bindings: acme, rights: given }
    return call(handler, eventOf(context, { path: '/sandbox/keys/v1', body }))
  }
  expect((await create(['act_for_users'], ['act_for_users'])).status).toBe(201)
  expect((await create(['act_for_users'], [])).status).toBe(201)
  expect(created.map(({ rights }) => rights)).toEqual([['act_for_users'], []])
  expect((await create(['act_for_users'], ['act_for_users', 'act_as_sandbox'])).status).toBe(403)
  expect((await create([], ['act_as_sandbox'])).status).toBe(403)
  expect(created).toHaveLength(2)
})
