import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'

const MEMORY = '/sandbox/memory/v1'

let stack: LocalStack

beforeAll(async () => {
  stack = await startLocalStack()
})

afterAll(() => stack.stop())

function send(method: string, path: string, body?: object, key = stack.apiKey): Promise<Response> {
  return fetch(stack.url + MEMORY + path, {
    method,
    headers: {
      'x-api-key': key,
      'x-sandbox-tenant-id': 'acme',
      'x-sandbox-project-id': 'demo',
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
}

test('the document of a project is streamed by the stack', async () => {
  expect((await send('PUT', '/tasks/fix-login/turns/2', { summary_md: 'It works.' })).status).toBe(200)
  const response = await send('GET', '/project.md')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
  expect(response.headers.get('transfer-encoding')).toBe('chunked')
  expect(await response.text()).toMatch(
    /^# Project memory\n\n## fix-login\n\n- Latest turn: 2\n- Turns: 1\n- Updated: \S+Z\n\nIt works\.\n$/,
  )
})

test('what is refused of a streamed route is refused as everywhere', async () => {
  expect((await send('GET', '/project.md', undefined, 'skp_wrong')).status).toBe(401)
  const wrong = await send('POST', '/project.md', {})
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET'])
  const unknown = await send('GET', '/project.md?page=2')
  expect(unknown.status).toBe(400)
  expect(await unknown.json()).toMatchObject({ error: { field: 'page' } })
})
