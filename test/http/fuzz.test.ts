import { fc, test } from '@fast-check/vitest'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { createHandler } from '../../lambdas/checkpoints/handler.ts'
import { ROUTES } from '../../lambdas/checkpoints/routes.ts'
import { createHandler as createInstancesHandler } from '../../lambdas/instances/handler.ts'
import { ROUTES as INSTANCE_ROUTES } from '../../lambdas/instances/routes.ts'
import type { ApiHandler } from '../../lambdas/shared/api.ts'
import { type Engines, startEngines } from '../support/engines.ts'
import { checkpoint } from './support/checkpoint.ts'
import { call } from './support/events.ts'

let engines: Engines
let services: Array<{ handler: ApiHandler; routes: readonly { method: string; path: string }[] }>
beforeAll(async () => {
  engines = await startEngines()
  services = [
    { handler: createHandler({ ...engines, startSweep: async () => undefined }), routes: ROUTES },
    { handler: createInstancesHandler(engines), routes: INSTANCE_ROUTES },
  ]
})
afterAll(() => engines.stop())

/** Values that are likely to be of the wrong kind in a place that means something. */
const anything = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('t', 'a', '', '\ud800', null, 0, -1, 1.5, 1e300, true, [], {}, 'x'.repeat(3_000)),
  },
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constant(checkpoint('a', 't')),
  fc.record({ ...Object.fromEntries(Object.keys(checkpoint('a', 't')).map((name) => [name, fc.jsonValue()])) }),
)
const names = [
  ...['id', 'thread_id', 'page', 'checkpoint', 'expected_head_id', 'writer', 'request_token', 'checkpoint_id', 'keep'],
  ...['source_thread_id', 'source_checkpoint_id', 'destination_thread_id', 'destination_checkpoint_id', 'created_at'],
  ...['owner_token', 'blobs', 'keys', 'prefix', 'size_bytes', 'sha256', 'upload_id', 'key', 'record', '__proto__'],
  ...['older_than_ms', 'dry_run', 'wait_ms'],
]
const writer = fc.record({ thread_id: anything, owner_token: anything, fence: anything }, { requiredKeys: [] })
const body = fc
  .oneof(
    { weight: 5, arbitrary: fc.dictionary(fc.constantFrom(...names), anything, { maxKeys: 6 }) },
    {
      weight: 5,
      arbitrary: fc.record(
        { thread_id: anything, checkpoint_id: anything, keep: anything, writer },
        { requiredKeys: ['writer'] },
      ),
    },
    { weight: 5, arbitrary: fc.record({ checkpoint: anything, expected_head_id: anything, writer }) },
    fc.jsonValue(),
  )
  .map((value) => JSON.stringify(value))
const bytes = fc.oneof({ weight: 8, arbitrary: body }, fc.uint8Array({ maxLength: 40 }), fc.string())

test.prop([fc.nat(), fc.nat(), bytes], { seed: 2, numRuns: 600 })(
  'no body brings about a 5xx or an answer of another shape',
  async (service, route, sent) => {
    const error = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const { handler, routes } = services[service % services.length] as (typeof services)[number]
    const { method = '', path = '' } = routes[route % routes.length] ?? {}
    const answer = await call(handler, { method, path, body: sent })
    expect(error.mock.calls).toStrictEqual([])
    expect(answer.status).toBeLessThan(500)
    if (answer.status < 300) return
    expect(answer.body).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } })
  },
)
