import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SandkeepAIEnv } from '../../client/ai/index.ts'
import { workOn } from '../../examples/hosted-sandbox.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { type AnthropicEndpoint, startAnthropic } from './support/anthropic-endpoint.ts'
import { bash, text } from './support/messages.ts'

let endpoint: AnthropicEndpoint
let stack: LocalStack

beforeAll(async () => {
  endpoint = await startAnthropic()
  const anthropic = { baseUrl: endpoint.url, apiKey: 'key' }
  stack = await startLocalStack({ anthropic, filesBackend: 'anthropic' })
}, 180_000)
afterAll(async () => {
  await stack.stop()
  await endpoint.stop()
})

test('the example works on a file, and goes on in the same container', async () => {
  const env: SandkeepAIEnv = {
    SANDBOX_GATEWAY_URL: stack.url,
    SANDBOX_TENANT: 'acme',
    SANDBOX_PROJECT: 'web',
    SANDBOX_API_KEY: stack.apiKey,
  }
  const report = endpoint.files.add('report.txt', 'sum: 3')
  const container = { id: 'container_1' }
  endpoint.replyWith({ content: [...bash('s1', 'sum', [report.id]), text('Here it is.')], container })
  const first = await workOn(env, { prompt: 'Sum it up.', file: new File(['1,2'], 'data.csv', { type: 'text/csv' }) })
  expect(first).toMatchObject({ text: 'Here it is.', saved: 'container_1' })
  expect(first.made.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])).toEqual([['report.txt', 'sum: 3']])

  endpoint.replyWith({ content: [text('Done.')], container })
  expect(await workOn(env, { prompt: 'And now?', saved: first.saved ?? null })).toEqual({
    text: 'Done.',
    saved: 'container_1',
    made: [],
  })
  expect(endpoint.requests[0]?.body.container).toBe('container_1')
})
