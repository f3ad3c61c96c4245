import type { IncomingMessage } from 'node:http'
import type { BundleDownload, BundleEntry } from '../../src/bundles/types.ts'
import { BundleReader } from './bundle-reader.ts'
import { refusal, type Transport } from './transport.ts'

/**
 * Downloads a bundle and gives each wanted blob in it to `take`, in the order of their offsets, checked by its hash.
 * While what `take` returned is pending, no more is read.
 * @throws TransferError when the answer is not 200, DamagedContentError at the first blob that is not the expected one:
 *   those before it were good; what `take` throws.
 */
export async function downloadBundle(
  transport: Transport,
  { download, size, entries }: BundleDownload,
  take: (entry: BundleEntry, bytes: Buffer) => Promise<void> | undefined,
  signal: AbortSignal,
): Promise<void> {
  const answer = await transport.send(download, null, signal)
  if (answer.statusCode !== 200) throw await refusal(answer, 'a download')
  let pending: Promise<void>[] = []
  const reader = new BundleReader(entries, (entry, bytes) => {
    const taken = take(entry, bytes)
    if (taken !== undefined) pending.push(taken)
  })
  try {
    await readAll(answer, (chunk) => {
      pending = []
      reader.push(chunk)
      // What follows is of no use. A bundle that is used to its end is read to it: the connection can be used again.
      if (reader.isDone && reader.length < size) answer.destroy()
      return pending.length > 0 ? Promise.all(pending) : undefined
    })
    reader.finish()
  } finally {
    if (!answer.complete) answer.destroy()
    // An answer may be over while what its last chunk brought is being taken.
    await Promise.all(pending)
  }
}

/** By events: an iteration would cost as much as what is done with the chunks. */
function readAll(answer: IncomingMessage, use: (chunk: Buffer) => Promise<unknown> | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      reject(error)
      answer.destroy()
    }
    answer.on('data', (chunk: Buffer) => {
      try {
        const waiting = use(chunk)
        if (waiting === undefined) return
        answer.pause()
        waiting.then(() => answer.resume(), fail)
      } catch (error) {
        fail(error)
      }
    })
    answer.on('error', reject)
    answer.on('close', resolve)
  })
}
