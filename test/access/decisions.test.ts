import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTokenAccess, type TokenAccess, type TokenRecord } from '../../src/access/tokens.ts'
import { AUDIENCE, type IdentityProvider, startIdentityProvider } from './support/identity-provider.ts'

const READ = 'sandbox-memory#read'
const WRITE = 'sandbox-memory#write'

let idp: IdentityProvider
beforeAll(async () => {
  idp = await startIdentityProvider({
    alice: { claims: {}, permissions: [READ] },
    bob: { claims: {}, permissions: [READ, WRITE] },
  })
})
afterAll(() => idp.stop())

let now: number
let refusals: string[]
let tokens: TokenAccess
beforeEach(() => {
  now = Date.now()
  refusals = []
  idp.faults.clear()
  idp.requests.length = 0
  idp.decisions.length = 0
  tokens = createTokenAccess(
    { issuer: idp.issuer, audience: AUDIENCE },
    { now: () => now, timeoutMs: 1_000, onRefusal: (message) => refusals.push(message) },
  )
})

async function tokenOf(user: string): Promise<TokenRecord> {
  const token = await tokens.verify(await idp.token(user))
  if (!token) throw new Error('The token must be valid.')
  return token
}

describe('a decision', () => {
  it('is asked for with one permission, as the caller, of the client that has the resource', async () => {
    expect(await tokens.decide(await tokenOf('alice'), READ)).toBe('granted')
    expect(idp.decisions).toEqual([
      { permission: READ, audience: AUDIENCE, responseMode: 'decision', subject: 'alice' },
    ])
  })

  it('is of one token and one permission', async () => {
    const [alice, bob] = await Promise.all([tokenOf('alice'), tokenOf('bob')])
    expect(await tokens.decide(alice, READ)).toBe('granted')
    expect(await tokens.decide(alice, WRITE)).toBe('denied')
    expect(await tokens.decide(bob, WRITE)).toBe('granted')
    expect(await tokens.decide(alice, WRITE)).toBe('denied')
    expect(idp.decisions).toHaveLength(3)
    expect(refusals).toEqual([])
  })

  it('is kept for a minute, whether granted or denied', async () => {
    const alice = await tokenOf('alice')
    for (const permission of [READ, WRITE]) {
      idp.decisions.length = 0
      const first = await tokens.decide(alice, permission)
      now += 59_999
      expect(await tokens.decide(alice, permission)).toBe(first)
      expect(idp.decisions).toHaveLength(1)
      now += 1
      expect(await tokens.decide(alice, permission)).toBe(first)
      expect(idp.decisions).toHaveLength(2)
    }
  })

  it('is not kept beyond the life of the token', async () => {
    const alice = { ...(await tokenOf('alice')), expiresAt: now + 5_000 }
    await tokens.decide(alice, READ)
    now += 4_999
    await tokens.decide(alice, READ)
    expect(idp.decisions).toHaveLength(1)
    now += 1
    await tokens.decide(alice, READ)
    await tokens.decide(alice, READ)
    expect(idp.decisions).toHaveLength(3)
  })

  it('is kept for 1,000 of them at most', async () => {
    const alice = await tokenOf('alice')
    const asked: string[] = []
    const many = createTokenAccess(
      { issuer: idp.issuer, audience: AUDIENCE },
      {
        fetch: async (url, init) => {
          if (init?.body === undefined) return fetch(url, init)
          asked.push(String(init.body))
          return Response.json({ result: true })
        },
      },
    )
    for (let index = 0; index <= 1_000; index++) await many.decide(alice, `resource-${index}#read`)
    await many.decide(alice, 'resource-1#read')
    expect(asked).toHaveLength(1_001)
    await many.decide(alice, 'resource-0#read')
    expect(asked).toHaveLength(1_002)
  })

  it('is not needed without UMA', async () => {
    const without = createTokenAccess({ issuer: idp.issuer, audience: AUDIENCE, uma: false })
    expect(await without.decide(await tokenOf('alice'), WRITE)).toBe('granted')
    expect(idp.decisions).toEqual([])
  })
})

describe('a provider that does not decide', () => {
  it.each<[string, Parameters<IdentityProvider['faults']['set']>[1]]>([
    ['breaks the connection', 'break'],
    ['says nothing', 'hang'],
    ['has an error', (response) => response.writeHead(500).end()],
    ['has too many requests', (response) => response.writeHead(429).end('{}')],
    ['is not there', (response) => response.writeHead(404).end('<html>')],
    ['sends the question elsewhere', (response) => response.writeHead(307, { location: '/elsewhere' }).end()],
    ['never ends its answer', (response) => response.writeHead(200).write('{"result":')],
    ['answers without end', (response) => response.end(' '.repeat(2_000_000))],
  ])('is unavailable, and that is not kept: it %s', async (_what, fault) => {
    const alice = await tokenOf('alice')
    idp.faults.set('/token', fault)
    await expect(tokens.decide(alice, READ)).rejects.toMatchObject({ name: 'ProviderUnavailableError' })
    expect(idp.requests).not.toContain('/elsewhere')
    idp.faults.clear()
    expect(await tokens.decide(alice, READ)).toBe('granted')
    idp.faults.set('/token', fault)
    expect(await tokens.decide(alice, READ)).toBe('granted')
  })

  it('for want of the resource denies, and an operator is told', async () => {
    expect(await tokens.decide(await tokenOf('bob'), 'nothing#read')).toBe('denied')
    expect(refusals).toEqual([
      'The identity provider does not decide on nothing#read: invalid_request, Resource does not exist..',
    ])
  })

  it.each(['{"result":false}', '{"result":"true"}', '{}', 'null', '[]', '', 'true', '{"access_token":"x"}'])(
    'denies by %j',
    async (body) => {
      const alice = await tokenOf('alice')
      idp.faults.set('/token', (response) => response.end(body))
      expect(await tokens.decide(alice, READ)).toBe('denied')
    },
  )

  it('for the token is not valid any more says so', async () => {
    const alice = await tokenOf('alice')
    expect(await tokens.decide({ ...alice, text: `${alice.text.slice(0, -9)}AAAAAAAAA` }, READ)).toBe('invalid')
  })
})
