import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

const routes = ROUTES.filter(({ path }) => path.includes('{')).map(({ path, method }) => [path, method] as const)

describe.each(['.', '..', '%2e%2e', '%2E', '%2F', 'a/b', '../../other', '\u0000', 'a\n', 'a'.repeat(129)])(
  'a parameter that is %j',
  (value) => {
    it.each(routes)('is refused at %s, and named: %s', async (path, method) => {
      for (const name of ['task_id', 'turn', 'name'].filter((name) => path.includes(`{${name}}`))) {
        const pathParameters = { task_id: 't', turn: '1', name: 'a', upload_id: 'u', [name]: value }
        const used = Object.entries(pathParameters).filter(([name]) => path.includes(`{${name}}`))
        const route = { method, path, resource: path, pathParameters: Object.fromEntries(used) }
        const answer = await handler(proxyEvent({ ...route, body: '{}' }), lambdaContext)
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
