import { constants } from 'node:fs'
import { chmod, copyFile } from 'node:fs/promises'
import pMap from 'p-map'
import type { BlobExchange, PresignedRequest } from '../../src/blobs/types.ts'
import type { BundleDownload } from '../../src/bundles/types.ts'
import type { SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { EXCHANGE_LIMIT } from '../../src/limits.ts'
import { RefusedError } from '../errors.ts'
import { count, printablePath } from '../format.ts'
import { downloadBlob, readBlob } from '../transfer/download.ts'
import { withRequest } from '../transfer/retry.ts'
import { TRANSFERS, type Transport } from '../transfer/transport.ts'
import { hashFile } from './hash.ts'
import { sha256OfKey } from './manifest.ts'
import { join } from './paths.ts'
import { stageBundles } from './stage-bundles.ts'
import { StagedFiles } from './staged-files.ts'

/** Up to this size a blob is in memory whole before it is written, which is the faster way. */
const SMALL_BYTES = 262_144

export interface StageInput {
  root: string
  /** Where the files are made ready. */
  folder: string
  files: ReadonlyArray<SandboxSnapshotFileEntry>
  /** Content that the target has: blob key to path. */
  sources: ReadonlyMap<string, string>
  blobs: Pick<BlobExchange, 'prepareDownloads'>
  /** Where contents come from in few requests; the others, and what a bundle fails to bring, by themselves. */
  bundles: ReadonlyArray<BundleDownload>
  transport: Transport
  signal: AbortSignal
  /** Told of each blob that is there. */
  onBlob(bytes: number): void
}

export interface Staged {
  /** Where each file lies ready, with its mode: path to staged file. */
  files: ReadonlyMap<string, string>
  downloads: number
  bytes: number
}

/**
 * Makes all files ready: each distinct blob is taken from the target or downloaded once, checked by size and hash, and
 * copied for each further file. When this returns, no content is missing and none is wrong.
 * @throws RefusedError when the store does not have a blob, or has it in another size than the checkpoint says.
 */
export async function stageFiles(input: StageInput): Promise<Staged> {
  const { transport, signal, bundles } = input
  const staged = new StagedFiles(input.folder, input.files, input.onBlob)
  const there = [...staged.wanted.keys()].filter((key) => input.sources.has(key))
  await pMap(
    there,
    async (key) => {
      if (await copyFromTarget(input, key, staged.wanted.get(key)?.path ?? '')) await staged.spread(key)
    },
    { concurrency: TRANSFERS, signal },
  )
  const came = await stageBundles({ bundles, staged, transport, signal })
  for await (const requests of prepared(input, [...staged.wanted.keys()], staged)) {
    await pMap(
      requests,
      async ([key, request]) => {
        const { size = 0 } = staged.wanted.get(key) ?? {}
        await downloadOne(input, key, request, staged)
        came.downloads += 1
        came.bytes += size
      },
      { concurrency: TRANSFERS, signal },
    )
  }
  return { files: staged.ready, ...came }
}

/** The requests for all keys, a batch at a time; the next batch is asked for while the one before is used. */
async function* prepared(
  input: StageInput,
  keys: readonly string[],
  staged: StagedFiles,
): AsyncGenerator<Array<[string, PresignedRequest]>> {
  const batchAt = (start: number) => prepare(input, keys.slice(start, start + EXCHANGE_LIMIT), staged)
  let next = batchAt(0)
  for (let start = 0; start < keys.length; start += EXCHANGE_LIMIT) {
    const current = await next
    next = batchAt(start + EXCHANGE_LIMIT)
    // It is awaited in the next round; until then a failure of the transfers comes first.
    next.catch(() => undefined)
    yield current
  }
}

async function prepare(
  { blobs, signal }: StageInput,
  keys: string[],
  { wanted }: StagedFiles,
): Promise<Array<[string, PresignedRequest]>> {
  signal.throwIfAborted()
  const requests: Array<[string, PresignedRequest]> = []
  if (keys.length === 0) return requests
  const missing: SandboxSnapshotFileEntry[] = []
  const damaged: string[] = []
  for (const answer of await blobs.prepareDownloads(keys)) {
    const { files = [] } = wanted.get(answer.key) ?? {}
    if (answer.download === null) {
      missing.push(...files)
      continue
    }
    for (const { path, size } of files) {
      if (size === answer.size) continue
      damaged.push(`${printablePath(path)}: the checkpoint says ${size} bytes, the content has ${answer.size}`)
    }
    requests.push([answer.key, answer.download])
  }
  if (missing.length > 0) throw lost(missing)
  if (damaged.length === 0) return requests
  throw new RefusedError(
    'The checkpoint is damaged; nothing was written. Pull another one (`sandkeep log` lists them), or push the folder again from where it is whole.',
    damaged,
  )
}

function lost(files: ReadonlyArray<SandboxSnapshotFileEntry>): RefusedError {
  return new RefusedError(
    `The store does not have the content of ${count(files.length, 'file')}; nothing was written. The checkpoint may have been pruned meanwhile: pull another one (\`sandkeep log\` lists them), or tell who runs the deployment.`,
    files.map(({ path }) => printablePath(path)),
  )
}

async function downloadOne(
  { blobs, transport, signal }: StageInput,
  key: string,
  request: PresignedRequest,
  staged: StagedFiles,
): Promise<void> {
  const wanted = staged.wanted.get(key)
  if (wanted === undefined) return
  const renew = async () => {
    const fresh = (await blobs.prepareDownloads([key]))[0]?.download ?? null
    if (fresh === null) throw lost(wanted.files)
    return fresh
  }
  const expected = { sha256: sha256OfKey(key), size: wanted.size }
  const transfer = async (ready: PresignedRequest) => {
    if (wanted.size > SMALL_BYTES) await downloadBlob(transport, ready, expected, wanted.path, signal)
    else await staged.write(key, await readBlob(transport, ready, expected, signal))
  }
  await withRequest(request, renew, transfer, undefined, signal)
  await staged.spread(key)
}

async function copyFromTarget({ root, sources, signal }: StageInput, key: string, file: string): Promise<boolean> {
  const source = sources.get(key)
  if (source === undefined) return false
  try {
    await copyFile(join(root, source), file, constants.COPYFILE_FICLONE)
    await chmod(file, 0o600)
    return (await hashFile(file, source, signal)).sha256 === sha256OfKey(key)
  } catch (error) {
    signal.throwIfAborted()
    // The file changed or went since it was compared: its content is downloaded instead.
    return error instanceof Error && !('code' in error && error.code === 'ENOSPC') ? false : Promise.reject(error)
  }
}
