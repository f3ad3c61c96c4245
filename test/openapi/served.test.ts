import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'

let stack: LocalStack

beforeAll(async () => {
  stack = await startLocalStack()
})

afterAll(() => stack.stop())

function ask(init?: RequestInit): Promise<Response> {
  return fetch(`${stack.url}/openapi.json`, init)
}

test('anybody gets the description, from any page', async () => {
  const response = await ask()
  expect(response.status).toBe(200)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
    'x-request-id': expect.stringMatching(/./),
    'x-content-type-options': 'nosniff',
  })
  const file = await readFile(path.resolve(import.meta.dirname, '../../docs/openapi.json'), 'utf8')
  expect(await response.json()).toEqual(JSON.parse(file))
})

test('credentials are not looked at', async () => {
  expect((await ask({ headers: { 'x-api-key': 'wrong', authorization: 'Bearer wrong' } })).status).toBe(200)
})

test('who has it is told so', async () => {
  const etag = (await ask()).headers.get('etag') ?? ''
  expect(etag).toMatch(/^"[\w-]{43}"$/)
  const response = await ask({ headers: { 'if-none-match': `"other", W/${etag}` } })
  expect(response.status).toBe(304)
  expect(response.headers.get('etag')).toBe(etag)
  expect(await response.text()).toBe('')
  expect((await ask({ headers: { 'if-none-match': '"other"' } })).status).toBe(200)
})

test('it can only be read', async () => {
  const response = await ask({ method: 'POST' })
  expect(response.status).toBe(405)
  expect(response.headers.get('allow')).toBe('GET')
})
