import { generateText } from 'ai'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createSandkeepAI, type SandkeepAIEnv, type SandkeepAIOptions } from '../../client/ai/index.ts'
import { InvalidInputError } from '../../src/errors.ts'
import { type AnthropicEndpoint, startAnthropic } from './support/anthropic-endpoint.ts'
import { text } from './support/messages.ts'

let endpoint: AnthropicEndpoint

beforeAll(async () => {
  endpoint = await startAnthropic()
  vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-secret')
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await endpoint.stop()
})

const env = (more: SandkeepAIEnv = {}): SandkeepAIEnv => ({
  SANDBOX_GATEWAY_URL: `${endpoint.url}/api/`,
  SANDBOX_TENANT: 'acme',
  SANDBOX_PROJECT: 'web',
  ...more,
})

async function headersOf(more: SandkeepAIEnv, options?: SandkeepAIOptions) {
  endpoint.replyWith({ content: [text('hi')] })
  await generateText({ model: createSandkeepAI(env(more), options)('claude-sonnet-4-5'), prompt: 'x' })
  const [request] = endpoint.requests
  expect(request?.path).toBe('/api/sandbox/anthropic/v1/messages')
  return request?.headers ?? {}
}

test('a key alone acts for the owner', async () => {
  const headers = await headersOf({ SANDBOX_API_KEY: 'key_1' })
  expect(headers).toMatchObject({
    'x-api-key': 'key_1',
    'x-sandbox-tenant-id': 'acme',
    'x-sandbox-project-id': 'web',
    'x-sandbox-scope': 'user',
    'anthropic-version': '2023-06-01',
  })
  expect(headers.authorization).toBeUndefined()
})

test('a token says who the user is, beside a key or alone, and Anthropic’s own key stays here', async () => {
  const owner = { APP_OWNER_JWT: 'owner' }
  expect(await headersOf(owner)).toMatchObject({ authorization: 'Bearer owner' })
  expect(await headersOf(owner)).not.toHaveProperty('x-api-key')
  expect(await headersOf({ ...owner, SANDBOX_API_KEY: 'key_1' }, { authToken: 'caller' })).toMatchObject({
    authorization: 'Bearer caller',
    'x-api-key': 'key_1',
  })
})

test('the scope and the user that a key acts for', async () => {
  expect(await headersOf({ SANDBOX_API_KEY: 'k' }, { sandboxScope: 'app', userId: 'u1' })).toMatchObject({
    'x-sandbox-scope': 'app',
    'x-sandbox-user-id': 'u1',
  })
})

test.each<[string, SandkeepAIEnv, SandkeepAIOptions]>([
  ['authToken', {}, {}],
  ['authToken', { APP_OWNER_JWT: 'owner' }, { authToken: '' }],
  ['sandboxScope', { SANDBOX_API_KEY: 'k' }, { sandboxScope: 'all' as 'app' }],
  ['SANDBOX_GATEWAY_URL', { SANDBOX_API_KEY: 'k', SANDBOX_GATEWAY_URL: '' }, {}],
])('names what is wrong: %s', (field, more, options) => {
  const make = () => createSandkeepAI(env(more), options)
  expect(make).toThrow(InvalidInputError)
  expect(make).toThrow(expect.objectContaining({ field }))
})

test('runs in browsers and workers: nothing that it reaches is of Node', async () => {
  const { outputFiles } = await build({
    entryPoints: [new URL('../../client/ai/index.ts', import.meta.url).pathname],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    external: ['ai', '@ai-sdk/anthropic'],
    logLevel: 'silent',
  })
  const code = outputFiles[0]?.text ?? ''
  expect(code).toContain('sandboxFiles')
  expect(code).not.toMatch(/["']node:|\bBuffer\b|\bprocess\.|\brequire\(/)
})
