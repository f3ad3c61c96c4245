import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createHandler } from '../../lambdas/sandboxes/handler.ts'
import { BASE, ROUTES } from '../../lambdas/sandboxes/routes.ts'
import type { ApiHandler } from '../../lambdas/shared/api.ts'
import { createBlobStore } from '../../src/blobs/store.ts'
import { ROLES } from '../../src/keys/types.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { type Engines, startEngines } from '../support/engines.ts'
import { type EventInput, errorOf } from './support/events.ts'
import { sandboxCaller } from './support/sandboxes.ts'

const UNKNOWN = '00000000-0000-0000-0000-000000000000'

let engines: Engines
let handler: ApiHandler
let scope: Scope
let send: ReturnType<typeof sandboxCaller>
let time = 1_764_504_000_000

beforeAll(async () => {
  engines = await startEngines()
  const requestBundles = async () => undefined
  handler = createHandler({ ...engines, now: () => time, sandboxRetentionSec: 3_600, requestBundles })
})
afterAll(() => engines.stop())
beforeEach(() => {
  scope = engines.freshScope()
  send = sandboxCaller(handler, { headers: scopeHeaders(scope) })
})

function scopeHeaders({ tenant, project }: Scope) {
  return { 'X-Sandbox-Tenant-Id': tenant, 'X-Sandbox-Project-Id': project }
}

async function create(body: object = {}, more: Partial<EventInput> = {}): Promise<string> {
  const answer = await send('POST ', { body: { profile: 'p', ...body }, ...more })
  expect(answer.status).toBe(201)
  return answer.body.sandbox_id
}

async function putFile(text: string) {
  const bytes = Buffer.from(text)
  const blobKey = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
  await createBlobStore({ ...engines, scope }).put(blobKey, bytes)
  return { kind: 'file', path: 'f', blobKey, size: bytes.length }
}

describe('answers', () => {
  test('of a sandbox have all fields, null where there is nothing', async () => {
    const { status, body } = await send('POST ', { body: { profile: 'p' } })
    expect(status).toBe(201)
    const created = new Date(time).toISOString()
    expect(body).toEqual({
      sandbox_id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      ...{ profile: 'p', status: 'running', task_id: null, workspace_key: null, labels: {} },
      ...{ provider: null, provider_sandbox_id: null, source: null, restore: null, latest_snapshot_seq: null },
      ...{ created_by: 'key-1', created_at: created, updated_at: created, expires_at: null },
    })
    expect(await send(`GET /${body.sandbox_id}`)).toMatchObject({ status: 200, body })
    expect((await send('GET ')).body).toEqual({ sandboxes: [body], next_page: null })
  })

  test('give what was sent', async () => {
    const labels = { a: '', 'x/y#z': '報告', constructor: 'c' }
    const sent = { task_id: 't', labels, provider: 'docker', provider_sandbox_id: 'c1' }
    const { body } = await send('POST ', { body: { profile: 'p', ttl_seconds: 1, ...sent } })
    expect(body).toMatchObject({ ...sent, workspace_key: 't' })
    expect(body.expires_at).toBe(new Date(time + 1_000).toISOString())
    const withProto = await send('POST ', { body: '{"profile":"p","labels":{"__proto__":"x"}}' })
    expect(JSON.stringify(withProto.body)).toContain('"labels":{"__proto__":"x"}')
  })

  test('of the resume in a new sandbox', async () => {
    const source = { type: 'workspace_latest' }
    const first = await send('POST ', { body: { profile: 'p', task_id: 'task-42', source } })
    expect(first.body.source).toEqual({ type: 'workspace_latest', workspace_key: 'task-42' })
    const { sandbox_id } = first.body
    const saved = await send(`POST /${sandbox_id}/snapshots`, {
      body: { reason: 'stop', files: [await putFile('x')], label: 'l' },
    })
    const name = { sandbox_id, snapshot_seq: 1 }
    expect(saved.status).toBe(201)
    expect(saved.body).toEqual({
      ...name,
      ...{ checkpoint_id: expect.any(String), workspace_key: 'task-42', reason: 'stop', label: 'l' },
      ...{ created_at: new Date(time).toISOString(), latest: true },
    })
    expect(await send(`DELETE /${sandbox_id}`)).toMatchObject({ status: 204, body: undefined })
    expect(await send(`DELETE /${sandbox_id}`)).toMatchObject({ status: 204, body: undefined })
    expect((await send(`GET /${sandbox_id}`)).body).toMatchObject({ status: 'destroyed', restore: name })
    for (const how of [{ restore_latest: true, reuse: true }, { restore_latest: true }, { source }]) {
      const { status, body } = await send('POST ', { body: { profile: 'p', task_id: 'task-42', ...how } })
      expect(status).toBe(201)
      expect(body).toMatchObject({ source: { ...source, workspace_key: 'task-42', ...name }, restore: name })
      expect(body).not.toHaveProperty('reused')
    }
    const again = await send('POST ', { body: { profile: 'p', task_id: 'task-42', reuse: true } })
    expect(again).toMatchObject({ status: 200, body: { reused: true, restore: name } })
    const manifest = await send(`GET /${sandbox_id}/snapshots/1`)
    expect(manifest).toMatchObject({ status: 200, body: { ...saved.body, artifacts: [], conversation: [] } })
    expect(manifest.body.files).toEqual([await putFile('x')])
    expect((await send(`GET /${sandbox_id}/snapshots`)).body).toEqual({ snapshots: [saved.body], next_page: null })
  })

  test('of stop, start and renew are the sandbox, whether the body is empty, none, or an object', async () => {
    const id = await create()
    for (const body of [null, '', '{}']) {
      for (const headers of [{}, { 'content-type': undefined }]) {
        if (body === '{}' && 'content-type' in headers) continue
        const more = { body, headers: { ...scopeHeaders(scope), ...headers } }
        expect(await send(`POST /${id}/stop`, more)).toMatchObject({ status: 200, body: { status: 'stopped' } })
        expect(await send(`POST /${id}/start`, more)).toMatchObject({ status: 200, body: { status: 'running' } })
        expect(await send(`POST /${id}/renew`, more)).toMatchObject({ status: 200, body: { expires_at: null } })
      }
    }
    const renewed = await send(`POST /${id}/renew`, { body: { ttl_seconds: 2_592_000 } })
    expect(renewed.body.expires_at).toBe(new Date(time + 2_592_000_000).toISOString())
  })

  test('name the state that refuses', async () => {
    const id = await create({ ttl_seconds: 60 })
    time += 60_000
    for (const route of ['stop', 'start', 'renew']) {
      const answer = await send(`POST /${id}/${route}`)
      expect(answer.status).toBe(409)
      expect(errorOf(answer)).toMatchObject({ code: 'sandbox_expired', message: expect.stringContaining('expired') })
    }
    expect((await send(`GET /${id}`)).body.status).toBe('expired')
    await send(`DELETE /${id}`)
    expect(errorOf(await send(`POST /${id}/start`))).toMatchObject({ code: 'sandbox_destroyed' })
    time += 3_600_000
    expect((await send(`GET /${id}`)).status).toBe(404)
  })

  test.for(['expired', 'destroyed'])('of one that is %s refuse all but a last save, for 10 minutes', async (state) => {
    const id = await create({ task_id: 't', ttl_seconds: 60 })
    const save = (reason: string) => send(`POST /${id}/snapshots`, { body: { reason, files: [] } })
    expect((await save('push')).body.snapshot_seq).toBe(1)
    if (state === 'expired') time += 60_000
    else await send(`DELETE /${id}`)
    const refused = { code: `sandbox_${state}`, message: expect.stringContaining(`is ${state}`) }
    const expectRefused = (answer: Awaited<ReturnType<typeof save>>) => {
      expect(answer.status).toBe(409)
      expect(errorOf(answer)).toMatchObject(refused)
    }
    for (const route of ['stop', 'start', 'renew']) expectRefused(await send(`POST /${id}/${route}`))
    for (const reason of ['stop', 'autosave', 'push']) expectRefused(await save(reason))
    time += 599_999
    expect((await save('expiry')).body).toMatchObject({ snapshot_seq: 2, latest: true })
    expect((await save('destroy')).body).toMatchObject({ snapshot_seq: 3, latest: true })
    time += 1
    for (const reason of ['expiry', 'destroy']) expectRefused(await save(reason))
    expect((await send(`GET /${id}`)).body).toMatchObject({ status: state, latest_snapshot_seq: 3 })
    expect((await send(`GET ?status=${state}&task_id=t`)).body.sandboxes).toHaveLength(1)
    expect((await send(`DELETE /${id}`)).status).toBe(204)
  })

  test('of a create say what it begins from, or that this is not there', async () => {
    const [mine, other, alone] = [await create({ task_id: 'mine' }), await create({ task_id: 'other' }), await create()]
    for (const id of [other, other, alone]) {
      expect((await send(`POST /${id}/snapshots`, { body: { reason: 'stop', files: [] } })).status).toBe(201)
    }
    const exact = (sandbox_id: string, snapshot_seq: number) => ({ type: 'snapshot', sandbox_id, snapshot_seq })
    const latest = { type: 'workspace_latest' }
    const begun = { sandbox_id: other, snapshot_seq: 2 }
    const table: [body: object, source: object | null | number][] = [
      [{ task_id: 'mine' }, null],
      [{ task_id: 'other' }, null],
      [{ task_id: 'other', restore_latest: false }, null],
      [{ task_id: 'mine', restore_latest: true }, null],
      [{ restore_latest: true }, null],
      [
        { task_id: 'other', restore_latest: true },
        { ...latest, workspace_key: 'other', ...begun },
      ],
      [
        { task_id: 'mine', source: latest },
        { ...latest, workspace_key: 'mine' },
      ],
      [
        { labels: { workspace_key: 'other' }, source: latest },
        { ...latest, workspace_key: 'other', ...begun },
      ],
      [
        { task_id: 'mine', source: { ...latest, workspace_key: 'other' } },
        { ...latest, workspace_key: 'other', ...begun },
      ],
      [{ source: { ...latest, workspace_key: 'none' } }, { ...latest, workspace_key: 'none' }],
      [{ source: latest }, 400],
      [
        { task_id: 'mine', source: exact(other, 1) },
        { ...exact(other, 1), workspace_key: 'other' },
      ],
      [{ source: { ...exact(other, 1), ...latest } }, { ...exact(other, 1), ...latest, workspace_key: 'other' }],
      [{ source: { ...exact(other, 1), workspace_key: 'other' } }, { ...exact(other, 1), workspace_key: 'other' }],
      [{ source: { ...exact(other, 1), workspace_key: 'mine' } }, 404],
      [
        { source: exact(alone, 1), restore_latest: true },
        { ...exact(alone, 1), workspace_key: null },
      ],
      [{ source: { ...exact(alone, 1), workspace_key: 'other' } }, 404],
      [{ source: exact(other, 3) }, 404],
      [{ source: exact(mine, 1) }, 404],
      [{ source: exact(UNKNOWN, 1) }, 404],
    ]
    for (const [more, expected] of table) {
      const what = JSON.stringify(more)
      const { status, body } = await send('POST ', { body: { profile: 'p', ...more } })
      if (typeof expected === 'number') {
        expect(status, what).toBe(expected)
        continue
      }
      expect(status, what).toBe(201)
      expect(body.source, what).toEqual(expected)
      const { sandbox_id, snapshot_seq } = body.source ?? {}
      expect(body.restore, what).toEqual(sandbox_id === undefined ? null : { sandbox_id, snapshot_seq })
      expect((await send(`GET /${body.sandbox_id}`)).body, what).toEqual(body)
    }
  })

  test('tell the blobs that are missing', async () => {
    const id = await create()
    const blobKey = `sandbox-files/sha256/${'a'.repeat(64)}`
    const files = [await putFile('x'), { kind: 'file', path: 'g', blobKey, size: 1 }]
    const answer = await send(`POST /${id}/snapshots`, { body: { reason: 'stop', files } })
    expect(answer.status).toBe(409)
    expect(errorOf(answer)).toMatchObject({ code: 'blob_missing', keys: [blobKey] })
  })
})

describe('the rights', () => {
  test.for(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))('of %s', async ([, route]) => {
    const { method, path, role: least } = route
    const below = path.slice(BASE.length).replace('{sandbox_id}', UNKNOWN).replace('{snapshot_seq}', '1')
    for (const role of ROLES) {
      const { status } = await send(`${method} ${below}`, { role })
      expect(status === 403, role).toBe(ROLES.indexOf(role) < ROLES.indexOf(least))
    }
    expect(route.permission).toMatch(/^sandbox#(read|write|delete)$/)
  })

  test('to destroy are those of who created it, and of an administrator', async () => {
    const alice = { role: 'writer', principal: { kind: 'user', id: 'alice' } } as const
    const others = [
      { role: 'writer', principal: { kind: 'user', id: 'bob' } },
      { role: 'writer', principal: { kind: 'key', id: 'alice' } },
    ] as const
    const id = await create({}, alice)
    for (const other of others) {
      const answer = await send(`DELETE /${id}`, other)
      expect(answer.status).toBe(403)
      expect(errorOf(answer).code).toBe('forbidden')
      // Whoever may write may use it.
      expect((await send(`POST /${id}/stop`, other)).status).toBe(200)
      expect((await send(`POST /${id}/snapshots`, { ...other, body: { reason: 'stop', files: [] } })).status).toBe(201)
      expect((await send(`DELETE /${UNKNOWN}`, other)).status).toBe(404)
    }
    expect((await send(`GET /${id}`)).body).toMatchObject({ status: 'stopped', created_by: 'alice' })
    expect((await send(`DELETE /${id}`, alice)).status).toBe(204)
    expect((await send(`DELETE /${id}`, alice)).status).toBe(204)
    const second = await create({}, alice)
    const admin = { role: 'project_admin', principal: { kind: 'user', id: 'carol' } } as const
    expect((await send(`DELETE /${second}`, admin)).status).toBe(204)
  })

  test('of another project are those on what is unknown', async () => {
    const id = await create({ task_id: 't' })
    await send(`POST /${id}/snapshots`, { body: { reason: 'stop', files: [] } })
    const stranger = sandboxCaller(handler, { headers: scopeHeaders({ ...scope, project: 'other' }) })
    const routes: [string, object?][] = [
      ['GET /ID'],
      ['DELETE /ID'],
      ['POST /ID/stop'],
      ['POST /ID/start'],
      ['POST /ID/renew'],
      ['POST /ID/snapshots', { reason: 'stop', files: [] }],
      ['GET /ID/snapshots'],
      ['GET /ID/snapshots/1'],
      ['POST /ID/snapshots/1/downloads'],
      ['POST ', { profile: 'p', source: { type: 'snapshot', sandbox_id: 'ID', snapshot_seq: 1 } }],
    ]
    for (const [route, body] of routes) {
      const ask = (of: string) =>
        stranger(route.replace('ID', of), body && { body: JSON.stringify(body).replace('"ID"', `"${of}"`) })
      const [unknown, theirs] = [await ask(UNKNOWN), await ask(id)]
      expect(unknown.status, route).toBe(404)
      expect(theirs, route).toEqual(unknown)
    }
    expect((await stranger('GET ')).body.sandboxes).toEqual([])
    expect((await stranger('GET ?task_id=t')).body.sandboxes).toEqual([])
  })
})
