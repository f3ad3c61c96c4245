import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHandler } from '../../lambdas/anthropic/handler.ts'
import { type LocalGateway, startGateway } from '../../local/gateway/index.ts'
import { createHandlers, createStreamHandlers } from '../../local/handlers.ts'
import { synthesizeTemplate } from '../../local/template.ts'
import { type AnthropicEndpoint, startAnthropic } from '../ai/support/anthropic-endpoint.ts'
import { bash } from '../ai/support/messages.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { CallRecorder, granted } from './recorder.ts'
import { synth } from './synth.ts'

let endpoint: AnthropicEndpoint
let stack: LocalStack
let gateway: LocalGateway
let recorder: CallRecorder
let now = 1_780_000_000_000

beforeAll(async () => {
  endpoint = await startAnthropic()
  stack = await startLocalStack()
  recorder = new CallRecorder(stack)
  const others = recorder.configOf('others')
  const anthropic = createHandler({
    ...recorder.configOf('anthropic'),
    anthropic: { baseUrl: endpoint.url, apiKey: async () => 'key' },
    now: () => now,
  })
  gateway = await startGateway({
    template: synthesizeTemplate(),
    handlers: createHandlers(others),
    streamHandlers: { ...createStreamHandlers(others), anthropic },
  })
})

afterAll(async () => {
  await gateway.stop()
  recorder.stop()
  await stack.stop()
  await endpoint.stop()
})

test('the proxy is granted the calls that it makes, and no others', async () => {
  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${gateway.url}/sandbox/anthropic/v1${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        'x-api-key': stack.apiKey,
        'x-sandbox-tenant-id': 'acme',
        'x-sandbox-project-id': 'demo',
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    expect(response.status).toBe(200)
    await response.text()
  }
  const message = { content: bash('s1', 'x', ['file_1']), container: { id: 'container_1' } }
  endpoint.replyElse(message)
  await send('POST', '/messages', { messages: [] })
  now += 3_600_000
  await send('POST', '/messages', { messages: [], container: 'container_1', stream: true })
  await send('GET', '/containers')
  expect(recorder.made('anthropic')).toEqual(granted(synth(), 'anthropic'))
})
