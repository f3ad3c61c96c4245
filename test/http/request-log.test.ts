import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'

// As the stack sets it: the logger looks at it when it is loaded.
vi.hoisted(() => {
  process.env.POWERTOOLS_LOG_LEVEL = 'INFO'
})

let stack: LocalStack

beforeAll(async () => {
  stack = await startLocalStack()
})

afterAll(() => stack.stop())
afterEach(() => vi.restoreAllMocks())

/** The lines that the functions wrote for requests sent at once. */
async function linesOf(init: RequestInit, ...paths: string[]): Promise<Array<Record<string, unknown>>> {
  const lines: string[] = []
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
  const answers = await Promise.all(paths.map((path) => fetch(stack.url + path, init)))
  await Promise.all(answers.map((answer) => answer.arrayBuffer()))
  vi.restoreAllMocks()
  return lines.map((line) => JSON.parse(line)).filter(({ message }) => message === 'request')
}

const headers = () => ({
  'x-api-key': stack.apiKey,
  'x-sandbox-tenant-id': 'acme',
  'x-sandbox-project-id': 'demo',
  'content-type': 'application/json',
})

it('is one line a request: the route, the scope, who, what came of it, and what it cost', async () => {
  const path = '/sandbox/memory/v1/tasks/secret-task/turns/1'
  const body = JSON.stringify({ summary_md: 'secret summary' })
  const [line, ...more] = await linesOf({ method: 'PUT', headers: headers(), body }, path)
  expect(more).toStrictEqual([])
  expect(line).toMatchObject({
    level: 'INFO',
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    route: 'PUT /sandbox/memory/v1/tasks/{task_id}/turns/{turn}',
    tenant: 'acme',
    project: 'demo',
    caller: expect.stringMatching(/^key:[0-9a-f]{16}$/),
    status: 200,
    milliseconds: expect.any(Number),
    table_requests: 2,
  })
  expect(line?.consumed_capacity).toBeGreaterThan(0)
  expect(JSON.stringify(line)).not.toMatch(/secret|skp_/)
})

it('tells of refusals and of streamed answers too', async () => {
  const [refused] = await linesOf({ headers: headers() }, '/sandbox/memory/v1/tasks/none')
  expect(refused).toMatchObject({ route: 'GET /sandbox/memory/v1/tasks/{task_id}', status: 404 })
  const [streamed] = await linesOf({ headers: headers() }, '/sandbox/memory/v1/project.md')
  expect(streamed).toMatchObject({ route: 'GET /sandbox/memory/v1/project.md', status: 200 })
})

it('keeps what each of many requests at once has cost apart', async () => {
  const paths = Array.from({ length: 8 }, (_, turn) => `/sandbox/memory/v1/tasks/many/turns/${turn}`)
  const lines = await linesOf({ headers: headers() }, ...paths)
  expect(lines).toHaveLength(8)
  for (const line of lines) expect(line).toMatchObject({ status: 404, table_requests: 1 })
})
