import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { Agent, get, type IncomingMessage } from 'node:http'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import pMap from 'p-map'
import { TRANSFERS } from '../cli/transfer/transport.ts'
import type { PresignedRequest } from '../src/blobs/types.ts'

/**
 * Sends the presigned downloads that stand on standard input, as many at a time as a pull. With a folder as argument
 * each becomes a file in it; without one the bytes are dropped.
 */
const [folder] = process.argv.slice(2)
const requests = (await json(process.stdin)) as PresignedRequest[]
const agent = new Agent({ keepAlive: true, maxSockets: TRANSFERS })
if (folder !== undefined) await mkdir(folder)
await pMap(requests, download, { concurrency: TRANSFERS })
agent.destroy()

async function download({ url, headers }: PresignedRequest, index: number): Promise<void> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent, headers }, resolve).on('error', reject)
  })
  if (answer.statusCode !== 200) throw new Error(`A download was answered with ${answer.statusCode}.`)
  if (folder !== undefined) await pipeline(answer, createWriteStream(path.join(folder, String(index))))
  else for await (const _chunk of answer);
}
