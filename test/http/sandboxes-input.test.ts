import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHandler } from '../../lambdas/sandboxes/handler.ts'
import { startTestApi, type TestApi } from './support/api.ts'
import { errorOf } from './support/events.ts'
import { sandboxCaller } from './support/sandboxes.ts'

let api: TestApi
let send: ReturnType<typeof sandboxCaller>
let id: string

beforeAll(async () => {
  api = await startTestApi()
  const { tenant, project } = api.engines.freshScope()
  const headers = { 'X-Sandbox-Tenant-Id': tenant, 'X-Sandbox-Project-Id': project }
  send = sandboxCaller(createHandler({ ...api.engines, requestBundles: async () => undefined }), { headers })
  id = (await send('POST ', { body: { profile: 'p', task_id: 't' } })).body.sandbox_id
  await send(`POST /${id}/snapshots`, { body: { reason: 'stop', files: [] } })
})
afterAll(() => api.stop())

const half = '\\ud800'

describe('a create is refused', () => {
  test.for<[field: string, body: object | string]>([
    ['profile', {}],
    ['profile', { profile: '' }],
    ['profile', { profile: 1 }],
    ['profile', { profile: 'p'.repeat(129) }],
    ['profile', `{"profile":"${half}"}`],
    ['task_id', { profile: 'p', task_id: 5 }],
    ['task_id', { profile: 'p', task_id: null }],
    ['task_id', { profile: 'p', task_id: '.a' }],
    ['task_id', { profile: 'p', task_id: 'a/b' }],
    ['task_id', { profile: 'p', task_id: 'a'.repeat(129) }],
    ['labels', { profile: 'p', labels: [] }],
    ['labels', { profile: 'p', labels: 'x' }],
    ['labels', { profile: 'p', labels: null }],
    ['labels', { profile: 'p', labels: { '': 'x' } }],
    ['labels', { profile: 'p', labels: { ['n'.repeat(129)]: 'x' } }],
    ['labels', { profile: 'p', labels: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`l${n}`, ''])) }],
    [
      'labels',
      { profile: 'p', labels: Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`l${n}`, 'é'.repeat(200)])) },
    ],
    ['labels.a', { profile: 'p', labels: { a: 1 } }],
    ['labels.a', { profile: 'p', labels: { a: null } }],
    ['labels.a', { profile: 'p', labels: { a: 'x'.repeat(1_025) } }],
    ['labels.a', `{"profile":"p","labels":{"a":"${half}"}}`],
    ['labels.__proto__', '{"profile":"p","labels":{"__proto__":{}}}'],
    ['labels.task_id', { profile: 'p', labels: { task_id: 'a b' } }],
    ['labels.ctp_task_id', { profile: 'p', labels: { ctp_task_id: '#' } }],
    ['labels.workspace_key', { profile: 'p', labels: { workspace_key: '..' } }],
    ['source', { profile: 'p', source: 'workspace_latest' }],
    ['source', { profile: 'p', source: null }],
    ['source.type', { profile: 'p', source: {} }],
    ['source.type', { profile: 'p', source: { type: 'latest' } }],
    ['source.x', { profile: 'p', source: { type: 'snapshot', x: 1 } }],
    ['source.workspace_key', { profile: 'p', source: { type: 'workspace_latest' } }],
    ['source.workspace_key', { profile: 'p', source: { type: 'workspace_latest', workspace_key: '' } }],
    ['source.workspace_key', { profile: 'p', source: { type: 'workspace_latest', workspace_key: 'a b' } }],
    ['source.sandbox_id', { profile: 'p', source: { type: 'workspace_latest', snapshot_seq: 1 } }],
    ['source.sandbox_id', { profile: 'p', source: { type: 'snapshot' } }],
    ['source.sandbox_id', { profile: 'p', source: { type: 'snapshot', sandbox_id: 1, snapshot_seq: 1 } }],
    ['source.snapshot_seq', { profile: 'p', source: { type: 'workspace_latest', sandbox_id: 'x' } }],
    ['source.snapshot_seq', { profile: 'p', source: { type: 'snapshot', sandbox_id: 'x', snapshot_seq: 0 } }],
    ['source.snapshot_seq', { profile: 'p', source: { type: 'snapshot', sandbox_id: 'x', snapshot_seq: 1.5 } }],
    ['source.snapshot_seq', { profile: 'p', source: { type: 'snapshot', sandbox_id: 'x', snapshot_seq: '1' } }],
    ['reuse', { profile: 'p', reuse: 'true' }],
    ['restore_latest', { profile: 'p', restore_latest: 1 }],
    ['ttl_seconds', { profile: 'p', ttl_seconds: 0 }],
    ['ttl_seconds', { profile: 'p', ttl_seconds: 2_592_001 }],
    ['ttl_seconds', { profile: 'p', ttl_seconds: 1.5 }],
    ['ttl_seconds', { profile: 'p', ttl_seconds: '60' }],
    ['ttl_seconds', '{"profile":"p","ttl_seconds":1e999}'],
    ['provider', { profile: 'p', provider: '' }],
    ['provider', { profile: 'p', provider: 'x'.repeat(129) }],
    ['provider_sandbox_id', { profile: 'p', provider_sandbox_id: 'x'.repeat(513) }],
    ['x', { profile: 'p', x: 1 }],
    ['body', '[]'],
    ['body', 'null'],
    ['body', '{'],
    ['profile', ''],
  ])('for %s in %j', async ([field, body]) => {
    const answer = await send('POST ', { body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field })
  })
})

describe('other requests are refused', () => {
  test.for<[field: string, route: string, body?: object]>([
    ['status', 'GET ?status=gone'],
    ['status', 'GET ?status='],
    ['task_id', 'GET ?task_id='],
    ['task_id', 'GET ?task_id=a%20b'],
    ['limit', 'GET ?limit=0'],
    ['limit', 'GET ?limit=1001'],
    ['limit', 'GET ?limit=01'],
    ['limit', 'GET ?limit=ten'],
    ['limit', 'GET ?limit=1&limit=2'],
    ['page', 'GET ?page='],
    ['page', 'GET ?page=x'],
    ['page', 'GET ?task_id=t&page=x'],
    ['x', 'GET ?x=1'],
    ['x', 'GET /ID?x=1'],
    ['x', 'POST /ID/stop', { x: 1 }],
    ['x', 'POST /ID/start', { x: 1 }],
    ['x', 'DELETE /ID', { x: 1 }],
    ['ttl_seconds', 'POST /ID/renew', { ttl_seconds: 0 }],
    ['ttl_seconds', 'POST /ID/renew', { ttl_seconds: null }],
    ['limit', 'GET /ID/snapshots?limit=0'],
    ['page', 'GET /ID/snapshots?page=x'],
    ['snapshot_seq', 'GET /ID/snapshots/0'],
    ['snapshot_seq', 'GET /ID/snapshots/01'],
    ['snapshot_seq', 'GET /ID/snapshots/-1'],
    ['snapshot_seq', 'GET /ID/snapshots/x'],
    ['snapshot_seq', 'GET /ID/snapshots/1e3'],
    ['snapshot_seq', 'GET /ID/snapshots/9999999999999999'],
    ['reason', 'POST /ID/snapshots', { files: [] }],
    ['reason', 'POST /ID/snapshots', { reason: 'why', files: [] }],
    ['label', 'POST /ID/snapshots', { reason: 'stop', files: [], label: 1 }],
    ['label', 'POST /ID/snapshots', { reason: 'stop', files: [], label: 'x'.repeat(1_025) }],
    ['if_latest', 'POST /ID/snapshots', { reason: 'stop', files: [], if_latest: true }],
    ['if_latest.snapshot_seq', 'POST /ID/snapshots', { reason: 'stop', files: [], if_latest: { sandbox_id: 'x' } }],
    // As a value of a condition it would be too large for DynamoDB.
    [
      'if_latest.sandbox_id',
      'POST /ID/snapshots',
      { reason: 'stop', files: [], if_latest: { sandbox_id: 'x'.repeat(3_000_000), snapshot_seq: 1 } },
    ],
    ['request_token', 'POST /ID/snapshots', { reason: 'stop', files: [], request_token: '' }],
    ['x', 'POST /ID/snapshots', { reason: 'stop', files: [], x: 1 }],
    ['size_bytes', 'POST /uploads', { size_bytes: 0, sha256: 'a'.repeat(64) }],
    ['sha256', 'POST /uploads', { size_bytes: 1, sha256: 'A'.repeat(64) }],
    ['upload_id', 'POST /ID/snapshots', { upload_id: 'x' }],
  ])('for %s in %s', async ([field, route, body]) => {
    const answer = await send(route.replace('ID', id), body && { body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field })
  })

  test.for<[field: string, manifest: object]>([
    ['files', {}],
    ['files', { files: {} }],
    ['files[0]', { files: [1] }],
    ['files[0].path', { files: [{ kind: 'dir', path: '../x' }] }],
    ['files[0].path', { files: [{ kind: 'dir', path: '/x' }] }],
    ['files[0].kind', { files: [{ kind: 'pipe', path: 'x' }] }],
    ['files[0].blobKey', { files: [{ kind: 'file', path: 'x', blobKey: 'x', size: 1 }] }],
    [
      'files[0].size',
      { files: [{ kind: 'file', path: 'x', blobKey: `sandbox-files/sha256/${'0'.repeat(64)}`, size: -1 }] },
    ],
    [
      'files[1].path',
      {
        files: [
          { kind: 'dir', path: 'x' },
          { kind: 'dir', path: 'x' },
        ],
      },
    ],
    ['artifacts', { files: [], artifacts: {} }],
    ['artifacts[0].name', { files: [], artifacts: [{ artifactId: 'a' }] }],
    ['conversation', { files: [], conversation: 'x' }],
  ])('for %s of the manifest in %j', async ([field, manifest]) => {
    const answer = await send(`POST /${id}/snapshots`, { body: { reason: 'stop', ...manifest } })
    expect(answer.status).toBe(400)
    const { code, message } = errorOf(answer)
    expect(code).toBe('SANDBOX_SNAPSHOT_INVALID_ENTRY')
    expect(message).toContain(field)
  })

  test('whatever stands in place of the id of a sandbox, as for an unknown one', async () => {
    const unknown = await send('GET /00000000-0000-0000-0000-000000000000')
    for (const wrong of ['x', '%2F', '..', '%00', 'é', id.toUpperCase(), `${id} `, 'x'.repeat(3_000), '__proto__']) {
      const answer = await send('GET /x', { pathParameters: { sandbox_id: wrong } })
      expect(answer, wrong).toEqual(unknown)
    }
  })
})

describe('large saves', () => {
  test('go and come through the bucket, and the limit is told where they do not', async () => {
    const client = api.client()
    const { sandbox } = await client.sandboxes.create({ profile: 'p' })
    const conversation = [randomBytes(6_000_000).toString('base64')]
    const saved = await client.sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'stop', files: [], conversation })
    expect((await client.sandboxes.getSnapshot(saved))?.conversation).toEqual(conversation)
    const answer = await send(`POST /${id}/snapshots`, { body: { reason: 'stop', files: [], conversation } })
    expect(answer.status).toBe(413)
    expect(errorOf(answer)).toMatchObject({ upload: '/sandbox/sandboxes/v1/uploads' })
  })
})
