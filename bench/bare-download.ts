import { Agent, get } from 'node:http'
import { json } from 'node:stream/consumers'
import pMap from 'p-map'
import { TRANSFERS } from '../cli/transfer/transport.ts'
import type { PresignedRequest } from '../src/blobs/types.ts'

/** Sends the presigned downloads that stand on standard input, as many at a time as a pull; drops what comes. */
const requests = (await json(process.stdin)) as PresignedRequest[]
const agent = new Agent({ keepAlive: true, maxSockets: TRANSFERS })
await pMap(requests, download, { concurrency: TRANSFERS })
agent.destroy()

function download({ url, headers }: PresignedRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`A download was answered with ${answer.statusCode}.`))
      answer.on('error', reject)
      answer.on('end', resolve)
      answer.resume()
    }).on('error', reject)
  })
}
