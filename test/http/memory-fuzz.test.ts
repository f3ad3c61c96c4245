import { fc, test } from '@fast-check/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createHandler } from '../../lambdas/memory/handler.ts'
import { ROUTES } from '../../lambdas/memory/routes.ts'
import type { ApiHandler } from '../../lambdas/shared/api.ts'
import { type Engines, startEngines } from '../support/engines.ts'
import { lambdaContext, proxyEvent } from './support/events.ts'

let engines: Engines
let handler: ApiHandler
beforeAll(async () => {
  engines = await startEngines()
  handler = createHandler(engines)
})
afterAll(() => engines.stop())

const hostile = [
  '..',
  '.',
  '%2e%2e',
  '%2F',
  'a/b',
  '%00',
  '\u0000',
  '\n',
  'é',
  '%E2%82%AC',
  '%',
  '?',
  '#',
  '',
  ' ',
  '\ud800',
]
const segment = (good: string[]) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...good) },
    { weight: 2, arbitrary: fc.constantFrom(...hostile, 'x'.repeat(129), 'x'.repeat(3_000)) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  )
const params = fc.record({
  task_id: segment(['t', 'u', 'A.b_c-1']),
  turn: segment(['1', '0001', '9999', '10000', '-1', '1e1']),
  name: segment(['a', 'trajectory.jsonl', '...']),
  upload_id: segment(['x', '00000000-0000-4000-8000-000000000000']),
})
const meta = fc.dictionary(
  fc.constantFrom('agent_id', 'exit_code', 'tokens', 'cost', 'started_at', 'extra', '__proto__', 'constructor', ''),
  fc.oneof(
    fc.constantFrom<unknown>(null, 0, '', {}, [], true, '\ud800', { input: 1 }, { output: 'x' }),
    fc.jsonValue(),
  ),
)
const body = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record(
        { meta: fc.oneof(meta, fc.jsonValue()), summary_md: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()) },
        { requiredKeys: [] },
      )
      .map((value) => JSON.stringify(value)),
  },
  {
    weight: 2,
    arbitrary: fc
      .record(
        {
          size_bytes: fc.oneof(fc.nat(), fc.double(), fc.jsonValue()),
          content_type: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
          sha256: fc.oneof(fc.constant('a'.repeat(64)), fc.jsonValue()),
        },
        { requiredKeys: ['size_bytes'] },
      )
      .map((value) => JSON.stringify(value)),
  },
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.uint8Array({ maxLength: 60 }),
  fc.string({ unit: 'binary' }),
  fc.constant(null),
)
const header = fc.oneof(
  fc.constantFrom('bytes=0-1', 'bytes=-1', 'bytes=9-', '*', '"a"', 'application/json', 'text/plain', ''),
  fc.string({ unit: 'binary', maxLength: 30 }),
)
const headers = fc.record(
  {
    'content-type': fc.oneof({ weight: 4, arbitrary: fc.constant('application/json') }, header),
    Range: header,
    'If-Range': header,
    'If-None-Match': fc.oneof(header, fc.array(header, { maxLength: 3 })),
  },
  { requiredKeys: [] },
)
const query = fc.dictionary(
  fc.constantFrom('limit', 'page', 'unknown'),
  fc.array(fc.oneof(fc.constantFrom('1', '1000', 't', '5'), fc.string({ unit: 'binary' })), {
    minLength: 1,
    maxLength: 2,
  }),
  { maxKeys: 2 },
)

/** Calls a route as it stands in the table. */
async function call(
  index: number,
  input: {
    pathParameters: Record<string, string>
    query: Record<string, string[]>
    body: string | Uint8Array | null
    headers: Record<string, string | string[] | undefined>
  },
) {
  const { method, path } = ROUTES[index % ROUTES.length] ?? { method: 'GET', path: '' }
  const used = Object.entries(input.pathParameters).filter(([name]) => path.includes(`{${name}}`))
  const event = proxyEvent({ ...input, method, path, resource: path, pathParameters: Object.fromEntries(used) })
  return handler(event, lambdaContext)
}

test.prop([fc.nat(), fc.record({ pathParameters: params, query: fc.oneof(fc.constant({}), query), body, headers })], {
  seed: 4,
  numRuns: 1_500,
})('no request brings about a 5xx, or headers that cannot be sent', async (index, input) => {
  const error = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const answer = await call(index, input)
  expect(error.mock.calls).toStrictEqual([])
  expect(answer.statusCode).toBeLessThan(500)
  expect(() => new Headers(answer.headers as Record<string, string>)).not.toThrow()
  if (answer.statusCode < 400 || answer.statusCode === 416) return
  const { error: told } = JSON.parse(answer.body)
  expect(told).toMatchObject({ code: expect.any(String), message: expect.any(String) })
})

const paths = ROUTES.filter(({ path }) => path.includes('{')).map(({ path }, index) => [path, index] as const)

describe.each(['.', '..', '%2e%2e', '%2E', '%2F', 'a/b', '../../other', '\u0000', 'a\n', 'a'.repeat(129)])(
  'a parameter that is %j',
  (value) => {
    it.each(paths)('is refused at %s, and named', async (path) => {
      for (const name of ['task_id', 'turn', 'name'].filter((name) => path.includes(`{${name}}`))) {
        const pathParameters = { task_id: 't', turn: '1', name: 'a', upload_id: 'u', [name]: value }
        const index = ROUTES.findIndex((route) => route.path === path)
        const answer = await call(index, { pathParameters, query: {}, body: '{}', headers: {} })
        expect([answer.statusCode, JSON.parse(answer.body).error.field]).toStrictEqual([400, name])
      }
    })
  },
)

it('an event without headers, parameters or body is refused', async () => {
  for (const { method, path } of ROUTES) {
    const event = proxyEvent({ method, path, body: null })
    const bare = { ...event, headers: null, multiValueHeaders: null } as unknown as typeof event
    expect((await handler(bare, lambdaContext)).statusCode).toBe(400)
  }
})
