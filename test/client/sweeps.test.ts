import { expect, it } from 'vitest'
import { answer, refusal, scripted } from './support.ts'

const report = {
  sweep_id: '2026-01-01T00:00:00.000Z-0123abcd',
  state: 'waiting',
  started_at: '2026-01-01T00:00:00.000Z',
  seconds: 1.5,
  dry_run: true,
  listed: 1,
  referenced: 2,
  condemned: 3,
  spared: 4,
  deleted: 5,
  bytes_freed: 6,
  cleared: 7,
  requests: 8,
  cost_usd: 0.9,
  failures: [{ key: 'k', reason: 'AccessDenied: no' }],
}

it('starts a sweep with what it is told, and leaves the rest to the API', async () => {
  const { client, sent } = scripted([answer({ sweep_id: 'a' }, 202), answer({ sweep_id: 'b' }, 202)])
  expect(await client.sweeps.start({ olderThanMs: 0, dryRun: true, waitMs: 5 })).toStrictEqual({ sweepId: 'a' })
  expect(await client.sweeps.start()).toStrictEqual({ sweepId: 'b' })
  expect(sent.map(({ method, url, body }) => [method, url, JSON.parse(body)])).toStrictEqual([
    ['POST', 'http://api.test/api/sandbox/checkpoints/v1/sweeps', { older_than_ms: 0, dry_run: true, wait_ms: 5 }],
    ['POST', 'http://api.test/api/sandbox/checkpoints/v1/sweeps', {}],
  ])
})

it('lists reports, as many as asked for', async () => {
  const { client, sent } = scripted([answer({ sweeps: [report] }), answer({ sweeps: [] })])
  expect(await client.sweeps.list()).toStrictEqual([
    {
      id: report.sweep_id,
      state: 'waiting',
      startedAt: Date.parse('2026-01-01T00:00:00.000Z'),
      seconds: 1.5,
      dryRun: true,
      listed: 1,
      referenced: 2,
      condemned: 3,
      spared: 4,
      deleted: 5,
      bytesFreed: 6,
      cleared: 7,
      requests: 8,
      costUsd: 0.9,
      failures: [{ key: 'k', reason: 'AccessDenied: no' }],
    },
  ])
  expect(await client.sweeps.list({ limit: 3 })).toStrictEqual([])
  expect(sent.map(({ method, url, body }) => [method, url, body])).toStrictEqual([
    ['GET', 'http://api.test/api/sandbox/checkpoints/v1/sweeps', ''],
    ['GET', 'http://api.test/api/sandbox/checkpoints/v1/sweeps?limit=3', ''],
  ])
})

it('asks again for usage when the API is not available', async () => {
  const { client, sent } = scripted([refusal(503, 'unavailable'), answer({ threads: 1, checkpoints: 2 })])
  expect(await client.sweeps.usage()).toMatchObject({ threads: 1, checkpoints: 2 })
  expect(sent).toHaveLength(2)
})
