import { Agent, request } from 'node:http'
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import { createHandler } from '../lambdas/anthropic/handler.ts'
import { apiEvent, CONTEXT } from './handler-time.ts'
import { median } from './harness.ts'
import { RecordedAnswers } from './recorded-answers.ts'

/** Run by the benchmark of the proxy in a process of its own, with `BENCH_PROXY` as JSON. */
export interface ProxyTask {
  upstream: string
  dynamodbEndpoint: string
  tableName: string
  /** The ids that the endpoint answers with. */
  containerId: string
  fileIds: string[]
}

export interface ProxyOutcome {
  /** Until the first byte of an answer, in the middle of many, and what the proxy adds to that. */
  proxyMs: number
  bareMs: number
  addedMs: number
  writesPerNewId: number
  callsForKnownIds: number
  streamedBytes: number
  idleBytes: number
  peakBytes: number
}

const TURNS = 400
const WARMUP = 100
const SAMPLE_MS = 2

const task = JSON.parse(process.env.BENCH_PROXY ?? '') as ProxyTask
const region = 'us-east-1'
const credentials = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }
const dynamodb = new DynamoDBClient({ region, credentials, endpoint: task.dynamodbEndpoint })
const handler = createHandler({
  dynamodb,
  s3: new S3Client({ region, credentials }),
  tableName: task.tableName,
  bucketName: 'none',
  anthropic: { baseUrl: task.upstream, apiKey: async () => 'key' },
})
const calls: string[] = []
dynamodb.middlewareStack.add(
  (next, { commandName }) =>
    (args) => {
      calls.push(String(commandName))
      return next(args)
    },
  { step: 'build' },
)

/** What Lambda would read from: the head, eight NUL bytes, and then the body. */
class Reader extends Writable {
  firstMs = 0
  bytes = 0
  #inBody = false
  readonly #start: number

  constructor(start: number) {
    super()
    this.#start = start
  }

  setContentType(): void {
    // The head is always of one type.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#inBody) {
      this.firstMs ||= performance.now() - this.#start
      this.bytes += chunk.length
    } else if (chunk.length === 8 && chunk.every((byte) => byte === 0)) this.#inBody = true
    done()
  }
}

const messages = [
  { role: 'user', content: [{ type: 'text', text: 'x'.repeat(20_000) }] },
  {
    role: 'assistant',
    content: task.fileIds.map((file_id) => ({
      type: 'bash_code_execution_tool_result',
      tool_use_id: file_id,
      content: { type: 'bash_code_execution_result', content: [{ type: 'bash_code_execution_output', file_id }] },
    })),
  },
  { role: 'user', content: 'Go on.' },
]
const known = { model: 'm', stream: true, container: task.containerId, messages }

await send({ model: 'm', stream: true, messages: [] })
// The container and the files of the answer, each new.
const writesPerNewId = calls.filter((name) => name.startsWith('TransactWrite')).length / (1 + task.fileIds.length)
calls.length = 0
await send(known)
const callsForKnownIds = calls.length

const outcome: ProxyOutcome = { ...(await compareFirstBytes()), writesPerNewId, callsForKnownIds, ...(await stream()) }
process.stdout.write(JSON.stringify(outcome))

async function compareFirstBytes() {
  const answers = new RecordedAnswers([dynamodb])
  answers.record()
  await send(known)
  answers.replay()
  const agent = new Agent({ keepAlive: true })
  const times: Array<{ proxy: number; bare: number }> = []
  for (let turn = 0; turn < WARMUP + TURNS; turn += 1) {
    answers.rewind()
    const { firstMs: proxy } = await send(known)
    const bare = await askUpstream(agent)
    if (turn >= WARMUP) times.push({ proxy, bare })
  }
  answers.remove()
  agent.destroy()
  return {
    proxyMs: median(times.map(({ proxy }) => proxy)),
    bareMs: median(times.map(({ bare }) => bare)),
    addedMs: median(times.map(({ proxy, bare }) => proxy - bare)),
  }
}

/** The same request without the proxy. */
function askUpstream(agent: Agent): Promise<number> {
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request(`${task.upstream}/v1/messages`, { method: 'POST', agent }, (response) => {
      response.once('data', () => {
        const ms = performance.now() - start
        response.on('end', () => resolve(ms))
      })
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(known))
  })
}

/** One long answer, read as fast as it comes. */
async function stream() {
  globalThis.gc?.()
  await sleep(200)
  const idleBytes = process.memoryUsage.rss()
  let peakBytes = idleBytes
  const sample = setInterval(() => {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss())
  }, SAMPLE_MS)
  const { bytes } = await send({ ...known, metadata: { user_id: 'long' } })
  clearInterval(sample)
  return { streamedBytes: bytes, idleBytes, peakBytes: Math.max(peakBytes, process.memoryUsage.rss()) }
}

async function send(body: object): Promise<{ firstMs: number; bytes: number }> {
  const event = apiEvent({ path: '/sandbox/anthropic/v1/messages', body })
  const start = performance.now()
  const reader = new Reader(start)
  await handler(event, reader, CONTEXT)
  if (reader.bytes === 0) throw new Error('There was no answer.')
  return { firstMs: reader.firstMs, bytes: reader.bytes }
}
