import { request } from 'node:http'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClient } from '../../client/index.ts'
import { createKeyStore } from '../../src/keys/store.ts'
import type { CreateKeyInput } from '../../src/keys/types.ts'
import { type LocalStack, type LocalStackOptions, startLocalStack } from '../support/local-stack.ts'
import { AUDIENCE, type Claims, type IdentityProvider, startIdentityProvider } from './support/identity-provider.ts'

const HEAD = '/sandbox/checkpoints/v1/head'
const ACQUIRE = '/sandbox/checkpoints/v1/writers/acquire'
const USERS = ['reader', 'writer', 'nobody', 'elsewhere', 'confused', 'unasked']

const user = (role: string, projects: unknown, ...permissions: string[]) => ({
  claims: { realm_access: { roles: [role] }, sandbox_projects: projects },
  permissions: permissions.map((permission) => `sandbox-checkpoints#${permission}`),
})

let idp: IdentityProvider
let stack: LocalStack
let dynamodb: DynamoDBClient
/** A token of each user, as the provider gave it. */
const tokens = new Map<string, string>()

beforeAll(async () => {
  idp = await startIdentityProvider({
    reader: user('viewer', ['acme/*'], 'read', 'write'),
    writer: user('writer', ['acme/web'], 'read', 'write'),
    nobody: user('offline_access', ['*'], 'read', 'write'),
    elsewhere: user('writer', ['other/web', 'acme/other'], 'read', 'write'),
    confused: user('writer', 'acme/web', 'read', 'write'),
    unasked: user('writer', ['acme/web']),
  })
  stack = await start()
  const { region, credentials, dynamodbEndpoint: endpoint } = stack
  dynamodb = new DynamoDBClient({ endpoint, region, credentials })
  for (const name of USERS) tokens.set(name, await idp.token(name))
})
afterAll(async () => {
  dynamodb.destroy()
  await stack.stop()
  await idp.stop()
})
beforeEach(() => {
  idp.faults.clear()
})

function start(options: LocalStackOptions = {}): Promise<LocalStack> {
  return startLocalStack({ oidc: { issuer: idp.issuer, audience: AUDIENCE }, ...options })
}

async function createKey(input: Partial<CreateKeyInput> = {}): Promise<string> {
  const everywhere = [{ tenant: '*', project: '*' }]
  const keys = createKeyStore({ dynamodb, tableName: stack.tableName })
  return (await keys.create({ name: 'test', role: 'writer', bindings: everywhere, ...input })).key
}

const bearer = (name: string) => ({ authorization: `Bearer ${tokens.get(name)}` })
const scope = { 'x-sandbox-tenant-id': 'acme', 'x-sandbox-project-id': 'web' }

let threads = 0

/** Each about a thread of its own. */
async function post(path: string, headers: object, { url }: { url: string } = stack) {
  const sent = { 'content-type': 'application/json', ...scope, ...headers } as Record<string, string | undefined>
  const given = Object.entries(sent).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const response = await fetch(url + path, { method: 'POST', headers: given, body: `{"thread_id":"t${threads++}"}` })
  const text = await response.text()
  return { status: response.status, text, headers: response.headers, error: JSON.parse(text).error }
}

describe('a token', () => {
  it('lets its user do what the role allows', async () => {
    expect((await post(HEAD, bearer('reader'))).status).toBe(200)
    expect((await post(ACQUIRE, bearer('reader'))).status).toBe(403)
    expect((await post(HEAD, bearer('writer'))).status).toBe(200)
    expect((await post(ACQUIRE, bearer('writer'))).status).toBe(200)
  })

  it('is for the projects that it names', async () => {
    const other = { 'x-sandbox-project-id': 'api' }
    expect((await post(HEAD, { ...bearer('reader'), ...other })).status).toBe(200)
    expect((await post(HEAD, { ...bearer('writer'), ...other })).status).toBe(403)
    expect((await post(HEAD, { ...bearer('reader'), 'x-sandbox-tenant-id': 'other' })).status).toBe(403)
  })

  it('is given to the client as a text, or by a function', async () => {
    const options = { url: stack.url, tenant: 'acme', project: 'web' }
    const text = tokens.get('writer') ?? ''
    for (const token of [text, () => text, () => idp.token('writer')]) {
      expect(await createClient({ ...options, token }).checkpoints.getHead('t')).toBeNull()
    }
    await expect(createClient({ ...options, token: 'a.b.c' }).checkpoints.getHead('t')).rejects.toMatchObject({
      status: 401,
      code: 'unauthenticated',
    })
  })
})

describe('no good credentials', () => {
  it('are 401, which says both ways to sign in', async () => {
    const { status, headers, error } = await post(HEAD, {})
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toBe('Bearer realm="sandkeep", ApiKey realm="sandkeep"')
    expect(error).toEqual({ code: 'unauthenticated', message: expect.stringMatching(/X-Api-Key.*Bearer/) })
  })

  it('are 401 with one body, whatever is wrong', async () => {
    const seconds = Math.floor(Date.now() / 1_000)
    const broken: Claims[] = [
      { aud: 'account' },
      { iss: 'https://other.test' },
      { exp: seconds - 60 },
      { exp: undefined },
      { nbf: seconds + 60 },
    ]
    const signed = await Promise.all(broken.map((claims) => idp.sign({ ...claims, sandbox_projects: ['*'] })))
    const secret = new Uint8Array(32)
    const all: object[] = [
      {},
      { 'x-api-key': 'skp_wrong' },
      { 'x-api-key': 'skp_wrong', ...bearer('writer') },
      { 'x-api-key': stack.apiKey, authorization: 'Basic YTpi' },
      { authorization: 'Bearer skp_wrong' },
      { 'x-api-key': stack.apiKey, authorization: `Bearer ${stack.apiKey}` },
      { authorization: `Bearer ${await idp.sign({}, { key: secret, header: { alg: 'HS256', kid: 'rsa-1' } })}` },
      ...signed.map((token) => ({ authorization: `Bearer ${token}` })),
      ...signed.map((token) => ({ 'x-api-key': stack.apiKey, authorization: `Bearer ${token}` })),
    ]
    const answers = await Promise.all(all.map((headers) => post(HEAD, headers)))
    expect(answers.map(({ status }) => status)).toEqual(all.map(() => 401))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  it.each(['authorization', 'x-api-key'])('are a header %s that stands twice', async (name) => {
    const value = name === 'x-api-key' ? stack.apiKey : bearer('writer').authorization
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const body = '{"thread_id":"t"}'
      const usual = { host: new URL(stack.url).host, 'content-type': 'application/json', ...scope }
      const length = ['content-length', String(body.length)]
      const headers = [...Object.entries(usual).flat(), ...length, name, value, name, value]
      request(stack.url + HEAD, { method: 'POST', headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end(body)
    })
    expect(status).toBe(401)
  })
})

describe('the refusals', () => {
  const noTenant = { 'x-sandbox-tenant-id': undefined }

  it('come in their order', async () => {
    // No credentials before no tenant.
    expect((await post(HEAD, noTenant)).status).toBe(401)
    expect((await post(HEAD, { ...noTenant, authorization: 'Bearer a.b.c' })).status).toBe(401)
    // No tenant before what the caller may not do.
    for (const name of ['nobody', 'elsewhere', 'confused', 'unasked']) {
      expect(await post(HEAD, { ...bearer(name), ...noTenant })).toMatchObject({
        status: 400,
        error: { code: 'invalid_input', field: 'X-Sandbox-Tenant-Id' },
      })
    }
    // What the caller may not do before what is wrong with the request, or is not there.
    const get = '/sandbox/checkpoints/v1/writers/renew'
    expect((await post(get, bearer('unasked'))).status).toBe(403)
    expect((await post(get, bearer('writer'))).status).toBe(400)
    // No route before all of it.
    expect((await post('/sandbox/checkpoints/v1/nothing', bearer('writer'))).status).toBe(404)
    expect((await post('/sandbox/checkpoints/v1/nothing', {})).status).toBe(404)
  })

  it('of what is forbidden have one body, whatever forbids it', async () => {
    const [viewerKey, otherKey, anyKey] = await Promise.all([
      createKey({ role: 'viewer' }),
      createKey({ bindings: [{ tenant: 'other', project: '*' }] }),
      createKey(),
    ])
    const all: object[] = [
      bearer('reader'),
      bearer('nobody'),
      bearer('elsewhere'),
      bearer('confused'),
      bearer('unasked'),
      { 'x-api-key': viewerKey },
      { 'x-api-key': otherKey },
      { 'x-api-key': viewerKey, ...bearer('writer') },
      { 'x-api-key': otherKey, ...bearer('writer') },
      { 'x-api-key': anyKey, ...bearer('reader') },
      { 'x-api-key': anyKey, ...bearer('elsewhere') },
      { 'x-api-key': stack.apiKey, ...bearer('unasked') },
      { ...bearer('writer'), 'x-sandbox-tenant-id': 'no-such-tenant' },
      { 'x-api-key': otherKey, 'x-sandbox-tenant-id': 'no-such-tenant' },
    ]
    const answers = await Promise.all(all.map((headers) => post(ACQUIRE, headers)))
    expect(answers.map(({ status }) => status)).toEqual(all.map(() => 403))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.error).toEqual({ code: 'forbidden', message: 'The credentials do not allow this request.' })
  })

  it('of a key are those of its own, without a word to the provider', async () => {
    idp.requests.length = 0
    expect((await post(ACQUIRE, { 'x-api-key': await createKey({ role: 'viewer' }) })).status).toBe(403)
    expect((await post(HEAD, { 'x-api-key': await createKey({ role: 'viewer' }) })).status).toBe(200)
    expect(idp.requests).toEqual([])
  })
})

it('allows a key and a token what both allow', async () => {
  const key = await createKey({ bindings: [{ tenant: 'acme', project: '*' }] })
  expect((await post(ACQUIRE, { 'x-api-key': key, ...bearer('writer') })).status).toBe(200)
  expect((await post(HEAD, { 'x-api-key': key, ...bearer('reader') })).status).toBe(200)
  const other = { 'x-sandbox-project-id': 'api' }
  expect((await post(HEAD, { 'x-api-key': key, ...bearer('reader'), ...other })).status).toBe(200)
  expect((await post(HEAD, { 'x-api-key': key, ...bearer('writer'), ...other })).status).toBe(403)
})

describe('a provider that is away', () => {
  beforeEach(() => {
    // It is logged, and here expected.
    vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('closes the door while nothing is known, in the order of refusals, and opens it when it is back', async () => {
    const fresh = await start()
    for (const fault of ['break', 'hang'] as const) {
      idp.faults.set('/.well-known/openid-configuration', fault)
      const began = Date.now()
      const refused = await post(HEAD, bearer('writer'), fresh)
      expect(Date.now() - began).toBeLessThan(9_000)
      expect(refused).toMatchObject({ status: 503, error: { code: 'unavailable' } })
      expect(refused.headers.get('retry-after')).toBe('1')
    }
    expect((await post(HEAD, { ...bearer('writer'), 'x-sandbox-tenant-id': 'a/b' }, fresh)).status).toBe(400)
    expect((await post(HEAD, { 'x-api-key': fresh.apiKey }, fresh)).status).toBe(200)
    expect((await post(HEAD, { 'x-api-key': fresh.apiKey, ...bearer('writer') }, fresh)).status).toBe(503)
    expect((await post(HEAD, { 'x-api-key': 'skp_wrong', ...bearer('writer') }, fresh)).status).toBe(401)
    idp.faults.clear()
    expect((await post(HEAD, bearer('writer'), fresh)).status).toBe(200)
    await fresh.stop()
  })

  it('is not missed for what it has decided in the last minute', async () => {
    let now = Date.now()
    const fresh = await start({ now: () => now })
    expect((await post(HEAD, bearer('writer'), fresh)).status).toBe(200)
    for (const path of ['/.well-known/openid-configuration', '/jwks', '/token']) idp.faults.set(path, 'break')
    now += 59_000
    expect((await post(HEAD, bearer('writer'), fresh)).status).toBe(200)
    expect((await post(ACQUIRE, bearer('writer'), fresh)).status).toBe(503)
    now += 1_000
    expect((await post(HEAD, bearer('writer'), fresh)).status).toBe(503)
    await fresh.stop()
  })

  it('is not needed without UMA once its keys are known', async () => {
    const fresh = await start({ oidc: { issuer: idp.issuer, audience: AUDIENCE, uma: false } })
    expect((await post(HEAD, bearer('unasked'), fresh)).status).toBe(200)
    for (const path of ['/.well-known/openid-configuration', '/jwks', '/token']) idp.faults.set(path, 'break')
    expect((await post(ACQUIRE, bearer('unasked'), fresh)).status).toBe(200)
    expect((await post(ACQUIRE, bearer('reader'), fresh)).status).toBe(403)
    await fresh.stop()
  })
})
