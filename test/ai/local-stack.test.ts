import Anthropic, { NotFoundError } from '@anthropic-ai/sdk'
import { isStepCount } from 'ai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  codeExecutionTool,
  createSandkeepAI,
  forwardSandboxContainer,
  reuseSandbox,
  type SandkeepAIEnv,
  sandboxFiles,
  sandboxOutputs,
  sandboxUpload,
} from '../../client/ai/index.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { type AnthropicEndpoint, startAnthropic } from './support/anthropic-endpoint.ts'
import { bash, messageEvents, sse, text } from './support/messages.ts'
import { ways } from './support/run.ts'

let endpoint: AnthropicEndpoint
let stack: LocalStack
let env: SandkeepAIEnv
const errors: unknown[] = []

beforeAll(async () => {
  endpoint = await startAnthropic()
  stack = await startLocalStack({
    anthropic: { baseUrl: endpoint.url, apiKey: 'sk-ant-secret' },
    filesBackend: 'anthropic',
    onError: (error) => errors.push(error),
  })
  env = {
    SANDBOX_GATEWAY_URL: stack.url,
    SANDBOX_TENANT: 'acme',
    SANDBOX_PROJECT: 'web',
    SANDBOX_API_KEY: stack.apiKey,
  }
})
afterAll(async () => {
  await stack.stop()
  await endpoint.stop()
})

test.each(Object.entries(ways))('upload, run, continue, download: %s', async (name, run) => {
  const caller = { userId: `user of ${name}` }
  const files = sandboxFiles(env, caller)
  const ai = createSandkeepAI(env, caller)
  const model = ai('claude-sonnet-4-5')
  const tools = { code_execution: codeExecutionTool() }

  const uploaded = await files.upload(new File(['a,b'], 'Umsätze “1”.csv', { type: 'text/csv' }), {
    expiresInSeconds: 7_200,
  })
  const made = endpoint.files.add('report.txt', 'sum: 3')
  const container = `container_${name}`
  endpoint.replyWith(
    { content: bash('s1', 'sum', [made.id]), stopReason: 'pause_turn', container: { id: container } },
    { content: [text('Done.')], container: { id: container } },
  )
  const steps = await run({
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'sum it up' }, sandboxUpload(uploaded)] }],
    tools,
    prepareStep: forwardSandboxContainer,
    stopWhen: isStepCount(5),
  })
  const outputs = sandboxOutputs(JSON.parse(JSON.stringify(steps)))
  expect(outputs).toEqual({ containerId: container, fileIds: [made.id] })
  expect(endpoint.requests[0]?.body.messages[0].content[1]).toEqual({ type: 'container_upload', file_id: uploaded.id })

  // In the next turn: the same container, and the conversation with the file in it.
  endpoint.replyWith({ content: [text('Again.')], container: { id: container } })
  await run({ model, prompt: 'and now?', tools, ...providerOptions(outputs.containerId) })
  expect(endpoint.requests[0]?.body.container).toBe(container)

  const response = await files.download(made.id)
  expect(response.headers.get('content-disposition')).toContain('report.txt')
  expect(await response.text()).toBe('sum: 3')
  expect((await files.list()).data.map(({ id }) => id)).toEqual([made.id, uploaded.id])
  await expect(files.download(uploaded.id)).rejects.toMatchObject({ status: 409 })
  await files.delete(made.id)
  await expect(files.get(made.id)).rejects.toMatchObject({ name: 'SandboxFileError', status: 404 })

  // Somebody else has neither.
  const stranger = createSandkeepAI(env, { userId: 'stranger' })('claude-sonnet-4-5')
  endpoint.replyWith({ content: [text('no')] })
  await expect(run({ model: stranger, prompt: 'x', tools, ...providerOptions(container) })).rejects.toMatchObject({
    statusCode: 404,
    isRetryable: false,
    data: { error: { type: 'not_found_error' } },
  })
  expect(endpoint.requests).toEqual([])
})

function providerOptions(containerId: string | null) {
  const options = reuseSandbox(containerId)
  return options && { providerOptions: options }
}

test('large files go straight to the bucket and come from it', async () => {
  const files = sandboxFiles(env)
  const content = new Uint8Array(6_000_000).map((_zero, index) => index % 251)
  const told: number[] = []
  const uploaded = await files.upload(new Blob([content]), {
    filename: 'big "1".bin',
    origin: 'sandbox',
    onProgress: ({ loaded }) => told.push(loaded),
  })
  expect(uploaded).toMatchObject({ filename: 'big "1".bin', size_bytes: content.length, downloadable: true })
  expect(told.length).toBeGreaterThan(10)
  const response = await files.download(uploaded.id)
  expect(response.headers.get('content-disposition')).toContain('big')
  expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(content))).toBe(true)
})

test('Anthropic’s own client speaks with the proxy and the files', async () => {
  const client = new Anthropic({
    baseURL: `${stack.url}/sandbox/anthropic`,
    apiKey: stack.apiKey,
    defaultHeaders: { 'x-sandbox-tenant-id': 'acme', 'x-sandbox-project-id': 'sdk' },
    maxRetries: 0,
  })
  const message = { content: bash('s1', 'x', ['file_sdk']), container: { id: 'container_sdk' } }
  endpoint.replyWith(message, message)
  const params = { model: 'claude-sonnet-5', max_tokens: 10, messages: [{ role: 'user' as const, content: 'x' }] }
  const whole = await client.beta.messages.create({ ...params, betas: ['files-api-2025-04-14'] })
  expect(whole.container?.id).toBe('container_sdk')
  expect(endpoint.requests[0]?.headers['anthropic-beta']).toContain('files-api-2025-04-14')
  const streamed = await client.messages.stream({ ...params, container: 'container_sdk' }).finalMessage()
  expect(streamed.content).toEqual(whole.content)
  const refused = await client.messages.create({ ...params, container: 'container_other' }).catch((error) => error)
  expect(refused).toBeInstanceOf(NotFoundError)
  expect(refused.requestID).toMatch(/./)

  const files = new Anthropic({
    baseURL: `${stack.url}/sandbox/files`,
    apiKey: stack.apiKey,
    defaultHeaders: { 'x-sandbox-tenant-id': 'acme', 'x-sandbox-project-id': 'sdk' },
    maxRetries: 0,
    // The paths of the files begin otherwise.
    fetch: (url, init) => fetch(String(url).replace('/v1/files', '/v1').replace('/files/v1?', '/files/v1?'), init),
  })
  const uploaded = await files.files.upload({ file: new File(['a'], 'a.txt') })
  expect(await files.files.retrieveMetadata(uploaded.id)).toMatchObject({ id: uploaded.id, filename: 'a.txt' })
  await expect(files.files.retrieveMetadata('file_unknown')).rejects.toBeInstanceOf(NotFoundError)
})

test('events come as they are made, and a caller who goes away ends the request', async () => {
  const [first, ...rest] = messageEvents({ content: [text('slow')] }, 'm')
  const more = Promise.withResolvers<void>()
  endpoint.replyWith({
    headers: { 'content-type': 'text/event-stream' },
    body: (async function* () {
      yield sse(first ? [first] : [])
      await more.promise
      yield sse(rest)
    })(),
  })
  const gone = new AbortController()
  const response = await fetch(`${stack.url}/sandbox/anthropic/v1/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': stack.apiKey,
      'x-sandbox-tenant-id': 'acme',
      'x-sandbox-project-id': 'web',
    },
    body: JSON.stringify({ stream: true, messages: [] }),
    signal: gone.signal,
  })
  const { value } = (await response.body?.getReader().read()) ?? {}
  expect(Buffer.from(value ?? []).toString()).toBe(sse(first ? [first] : []))
  gone.abort()
  await endpoint.requests[0]?.aborted
})
