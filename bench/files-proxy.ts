import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { sizes } from '../lib/function-sizes.ts'
import { type AnthropicEndpoint, startAnthropic } from '../test/ai/support/anthropic-endpoint.ts'
import { bash, text } from '../test/ai/support/messages.ts'
import { startEngines } from '../test/support/engines.ts'
import { bundleScript } from './bundled-script.ts'
import { endpointOf } from './endpoint.ts'
import type { ProxyOutcome, ProxyTask } from './files-proxy-process.ts'
import { atMost, type BenchResult } from './harness.ts'
import { runNode } from './measured-process.ts'

const MIB = 1_048_576
const STREAM_BYTES = 50 * MIB
const IDS = { containerId: 'container_1', fileIds: Array.from({ length: 20 }, (_none, index) => `file_${index}`) }

/**
 * The proxy before an endpoint in another process: what it adds to the time until the first byte, without the calls of
 * the SDK; its calls; and its memory for an answer of 50 MB.
 */
export async function filesProxy(): Promise<BenchResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-proxy-'))
  const [engines, endpoint] = await Promise.all([startEngines(), startAnthropic()])
  try {
    reply(endpoint)
    const task: ProxyTask = {
      upstream: endpoint.url,
      dynamodbEndpoint: await endpointOf(engines.dynamodb),
      tableName: engines.tableName,
      ...IDS,
    }
    const script = await bundleScript('files-proxy-process', folder)
    const env = { BENCH_PROXY: JSON.stringify(task) }
    const { stdout } = await runNode(script, [], { flags: ['--expose-gc', ...sizes.proxy.nodeOptions.split(' ')], env })
    return resultOf(JSON.parse(stdout) as ProxyOutcome)
  } finally {
    await Promise.all([engines.stop(), endpoint.stop()])
    await rm(folder, { recursive: true })
  }
}

function resultOf(outcome: ProxyOutcome): BenchResult {
  return {
    rows: [
      {
        proxy: 'a container and 20 files in the conversation',
        'first byte ms': outcome.proxyMs,
        'bare ms': outcome.bareMs,
        'added ms': outcome.addedMs,
      },
      {
        proxy: 'an answer of 50 MB',
        bytes: outcome.streamedBytes,
        'idle MiB': outcome.idleBytes / MIB,
        'peak MiB': outcome.peakBytes / MIB,
      },
    ],
    bars: [
      atMost('proxy: added until the first byte, p50', outcome.addedMs, 5, 'ms'),
      atMost('proxy: memory for 50 MB above idle', (outcome.peakBytes - outcome.idleBytes) / MIB, 64, 'MiB'),
      atMost('proxy: table writes per new id', outcome.writesPerNewId, 1, 'calls'),
      atMost('proxy: table calls for known ids', outcome.callsForKnownIds, 1, 'calls'),
    ],
  }
}

function reply(endpoint: AnthropicEndpoint): void {
  const container = { id: IDS.containerId }
  endpoint.replyElse(({ body }) =>
    body.metadata?.user_id === 'long'
      ? { headers: { 'content-type': 'text/event-stream' }, body: longAnswer() }
      : { content: [text('Done.'), ...bash('s1', 'ls', IDS.fileIds)], container },
  )
}

async function* longAnswer(): AsyncGenerator<string> {
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'word '.repeat(20) } }
  const events = `event: content_block_delta\ndata: ${JSON.stringify(delta)}\n\n`.repeat(100)
  for (let bytes = 0; bytes < STREAM_BYTES; bytes += events.length) yield events
}
