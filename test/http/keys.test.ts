import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SandkeepClient } from '../../client/index.ts'
import type { KeyBinding } from '../../src/keys/types.ts'
import { startTestApi, type TestApi } from './support/api.ts'

let api: TestApi
let platform: SandkeepClient
beforeAll(async () => {
  api = await startTestApi()
  platform = api.client()
})
afterAll(() => api.stop())

async function send(method: string, path: string, body: object, apiKey: string, tenant = 'acme') {
  const response = await api.fetch(`${api.url}/sandbox/keys/v1${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      'x-api-key': apiKey,
      'x-sandbox-tenant-id': tenant,
      'x-sandbox-project-id': 'web',
    },
    ...(method !== 'GET' && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

const bindings: KeyBinding[] = [{ tenant: 'acme', project: 'web' }]

it('creates a key that works until it is revoked', async () => {
  const admin = await api.createKey('platform')
  const created = await send('POST', '', { name: 'ci', role: 'viewer', bindings }, admin)
  const { key, record } = created.body
  expect(created).toStrictEqual({
    status: 201,
    body: {
      key: expect.stringMatching(/^skp_/),
      record: {
        id: expect.any(String),
        name: 'ci',
        role: 'viewer',
        bindings,
        rights: [],
        created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      },
    },
  })
  const asCreated = api.client({ apiKey: key, tenant: 'acme', project: 'web' })
  expect(await asCreated.checkpoints.getHead('t')).toBeNull()
  await expect(asCreated.checkpoints.acquireWriter('t')).rejects.toMatchObject({ status: 403, code: 'forbidden' })

  const listed = (await send('GET', '', {}, admin)).body.keys
  expect(listed).toContainEqual(record)
  expect(JSON.stringify(listed)).not.toContain(key)

  expect(await send('POST', '/revoke', { id: record.id }, admin)).toStrictEqual({ status: 204, body: undefined })
  await expect(asCreated.checkpoints.getHead('t')).rejects.toMatchObject({ status: 401, code: 'unauthenticated' })
  const after = (await send('GET', '', {}, admin)).body.keys.find(({ id }: { id: string }) => id === record.id)
  expect(after).toStrictEqual({ ...record, revoked_at: expect.stringMatching(/Z$/) })
})

it('has the same shape in the client', async () => {
  const { key, record } = await platform.keys.create({ name: 'n', role: 'writer', bindings })
  expect(key).toMatch(/^skp_/)
  expect(record).toStrictEqual({
    id: record.id,
    name: 'n',
    role: 'writer',
    bindings,
    rights: [],
    createdAt: expect.any(Number),
  })
  await platform.keys.revoke(record.id)
  expect(await platform.keys.list()).toContainEqual({ ...record, revokedAt: expect.any(Number) })
  await expect(platform.keys.revoke('nobody')).rejects.toMatchObject({ status: 404, code: 'not_found' })
})

it('keeps the rights that a key is given, once each', async () => {
  const { record } = await platform.keys.create({
    name: 'sandbox',
    role: 'writer',
    bindings,
    rights: ['act_as_sandbox', 'act_for_users'],
  })
  expect(record.rights).toStrictEqual(['act_for_users', 'act_as_sandbox'])
  expect(await platform.keys.list()).toContainEqual(record)
})

it('lists any number of keys, by pages', async () => {
  const scope = { tenant: 'many', project: 'keys' }
  const ids: string[] = []
  for (let index = 0; index < 101; index++) {
    const { record } = await platform.keys.create({ name: `key ${index}`, role: 'viewer', bindings: [scope] })
    ids.push(record.id)
  }
  const owner = await api.createKey('platform', [scope])
  const listed = await api.client({ apiKey: owner, ...scope }).keys.list()
  expect(new Set(listed.map(({ id }) => id))).toEqual(new Set([...ids, owner.split('_')[1]]))
})

it.each(['viewer', 'writer', 'project_admin'] as const)('is not for the role %s', async (role) => {
  const apiKey = await api.createKey(role)
  expect((await send('GET', '', {}, apiKey)).status).toBe(403)
  expect((await send('POST', '', { name: 'n', role: 'viewer', bindings }, apiKey)).status).toBe(403)
  expect((await send('POST', '/revoke', { id: 'x' }, apiKey)).status).toBe(403)
})

it('lets a bound platform key neither make, see nor revoke keys that reach further', async () => {
  const bound = await api.createKey('platform', [{ tenant: 'acme', project: '*' }])
  const further: KeyBinding[][] = [
    [{ tenant: '*', project: '*' }],
    [{ tenant: '*', project: 'web' }],
    [{ tenant: 'other', project: 'web' }],
    [
      { tenant: 'acme', project: 'web' },
      { tenant: 'other', project: 'web' },
    ],
  ]
  for (const reach of further) {
    expect((await send('POST', '', { name: 'n', role: 'viewer', bindings: reach }, bound)).status).toBe(403)
  }
  const foreign = await platform.keys.create({
    name: 'n',
    role: 'viewer',
    bindings: [{ tenant: 'other', project: '*' }],
  })
  const own = await send(
    'POST',
    '',
    { name: 'own', role: 'platform', bindings: [{ tenant: 'acme', project: '*' }] },
    bound,
  )
  expect(own.status).toBe(201)
  const seen = (await send('GET', '', {}, bound)).body.keys.map(({ id }: { id: string }) => id)
  expect(seen).toContain(own.body.record.id)
  expect(seen).not.toContain(foreign.record.id)
  const refused = await send('POST', '/revoke', { id: foreign.record.id }, bound)
  expect(refused.status).toBe(404)
  expect(refused.body).toStrictEqual((await send('POST', '/revoke', { id: 'nobody' }, bound)).body)
})

it.each([
  [{}, 'name'],
  [{ name: '', role: 'viewer', bindings }, 'name'],
  [{ name: ' ', role: 'viewer', bindings }, 'name'],
  [{ name: 'x'.repeat(129), role: 'viewer', bindings }, 'name'],
  [{ name: 'n', role: 'root', bindings }, 'role'],
  [{ name: 'n', role: 'viewer' }, 'bindings'],
  [{ name: 'n', role: 'viewer', bindings: [] }, 'bindings'],
  [{ name: 'n', role: 'viewer', bindings: [{ tenant: 'a' }] }, 'bindings.0.project'],
  [{ name: 'n', role: 'viewer', bindings: [{ tenant: 'a*', project: '*' }] }, 'bindings.0.tenant'],
  [{ name: 'n', role: 'viewer', bindings, rights: 'act_for_users' }, 'rights'],
  [{ name: 'n', role: 'viewer', bindings, rights: ['root'] }, 'rights.0'],
  [{ name: 'n', role: 'viewer', bindings, key: 'mine' }, 'key'],
])('refuses %j, naming %s', async (body, field) => {
  const answer = await send('POST', '', body, await api.createKey('platform'))
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_input', field } } })
})
