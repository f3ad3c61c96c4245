import pMap from 'p-map'
import type { BundleDownload } from '../../src/bundles/types.ts'
import { DamagedContentError, TransferError } from '../errors.ts'
import { downloadBundle } from '../transfer/bundle.ts'
import { isNetworkError, withRequest } from '../transfer/retry.ts'
import type { Transport } from '../transfer/transport.ts'
import type { StagedFiles } from './staged-files.ts'

/** Each brings more bytes a second than most ways take; with a few none waits for another's answer to begin. */
const BUNDLES_AT_ONCE = 4
/** No bundle holds larger blobs. Each is in memory when it is checked. */
const MAX_BLOB_BYTES = 1_048_576

export interface BundlesInput {
  bundles: ReadonlyArray<BundleDownload>
  staged: StagedFiles
  transport: Transport
  signal: AbortSignal
}

/**
 * Makes ready what bundles bring. What one does not bring, because it is gone or damaged or cannot be had now, is still
 * wanted afterwards: a bundle is a shorter way and never the only one.
 * @returns what came
 */
export async function stageBundles({ bundles, staged, transport, signal }: BundlesInput) {
  const came = { downloads: 0, bytes: 0 }
  await pMap(
    bundles,
    async (bundle) => {
      const isWanted = ({ key, size }: { key: string; size: number }) => staged.wanted.get(key)?.size === size
      const fetchWanted = async (request: BundleDownload['download']) => {
        const entries = bundle.entries.filter((entry) => entry.size <= MAX_BLOB_BYTES && isWanted(entry))
        if (entries.length === 0) return
        came.downloads += 1
        const take = ({ key, size }: { key: string; size: number }, bytes: Buffer) => {
          if (!staged.wanted.has(key)) return undefined
          came.bytes += size
          return staged.write(key, bytes)
        }
        try {
          await downloadBundle(transport, { ...bundle, download: request, entries }, take, signal)
        } catch (error) {
          if (!(error instanceof DamagedContentError)) throw error
        }
      }
      try {
        // There is no other request for the same bundle: without one the rest comes by itself.
        await withRequest(bundle.download, async () => null, fetchWanted, undefined, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof TransferError) && !isNetworkError(error)) throw error
      }
    },
    { concurrency: BUNDLES_AT_ONCE, signal },
  )
  return came
}
