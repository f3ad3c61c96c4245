import { constants } from 'node:fs'
import { chmod, copyFile } from 'node:fs/promises'
import pMap from 'p-map'
import type { BlobExchange, PresignedRequest } from '../../src/blobs/types.ts'
import type { SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { EXCHANGE_LIMIT } from '../../src/limits.ts'
import { RefusedError } from '../errors.ts'
import { count, printablePath } from '../format.ts'
import { downloadBlob } from '../transfer/download.ts'
import { withRequest } from '../transfer/retry.ts'
import { TRANSFERS, type Transport } from '../transfer/transport.ts'
import { hashFile } from './hash.ts'
import { sha256OfKey } from './manifest.ts'
import { join } from './paths.ts'

export interface StageInput {
  root: string
  /** Where the files are made ready. */
  folder: string
  files: ReadonlyArray<SandboxSnapshotFileEntry>
  /** Content that the target has: blob key to path. */
  sources: ReadonlyMap<string, string>
  blobs: BlobExchange
  transport: Transport
  signal: AbortSignal
  /** Told of each blob that is there. */
  onBlob(bytes: number): void
}

export interface Staged {
  /** Where each file lies ready, with its mode: path to staged file. */
  files: Map<string, string>
  downloads: number
  bytes: number
}

/**
 * Makes all files ready: each distinct blob is taken from the target or downloaded once, checked by size and hash, and
 * copied for each further file. When this returns, no content is missing and none is wrong.
 * @throws RefusedError when the store does not have a blob, or has it in another size than the checkpoint says.
 */
export async function stageFiles(input: StageInput): Promise<Staged> {
  const staged: Staged = { files: new Map(), downloads: 0, bytes: 0 }
  const byKey = Map.groupBy(input.files, ({ blobKey }) => blobKey)
  const nameOf = new Map([...byKey.keys()].map((key, index) => [key, join(input.folder, String(index))]))
  const download: string[] = []
  await pMap(
    byKey,
    async ([key, entries]) => {
      if (!(await copyFromTarget(input, key, nameOf.get(key) ?? ''))) download.push(key)
      else await spread(input, entries, nameOf.get(key) ?? '', staged)
    },
    { concurrency: TRANSFERS, signal: input.signal },
  )
  for await (const requests of prepared(input, download, byKey)) {
    await pMap(
      requests,
      async ([key, request]) => {
        const entries = byKey.get(key) ?? []
        const size = entries[0]?.size ?? 0
        await downloadOne(input, key, entries, request, nameOf.get(key) ?? '')
        staged.downloads += 1
        staged.bytes += size
        await spread(input, entries, nameOf.get(key) ?? '', staged)
      },
      { concurrency: TRANSFERS, signal: input.signal },
    )
  }
  return staged
}

type FilesByKey = ReadonlyMap<string, ReadonlyArray<SandboxSnapshotFileEntry>>

/** The requests for all keys, a batch at a time; the next batch is asked for while the one before is used. */
async function* prepared(
  input: StageInput,
  keys: readonly string[],
  byKey: FilesByKey,
): AsyncGenerator<Array<[string, PresignedRequest]>> {
  const batchAt = (start: number) => prepare(input, keys.slice(start, start + EXCHANGE_LIMIT), byKey)
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
  byKey: FilesByKey,
): Promise<Array<[string, PresignedRequest]>> {
  signal.throwIfAborted()
  const requests: Array<[string, PresignedRequest]> = []
  if (keys.length === 0) return requests
  const missing: SandboxSnapshotFileEntry[] = []
  const damaged: string[] = []
  for (const answer of await blobs.prepareDownloads(keys)) {
    const files = byKey.get(answer.key) ?? []
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
  entries: ReadonlyArray<SandboxSnapshotFileEntry>,
  request: PresignedRequest,
  file: string,
): Promise<void> {
  const renew = async () => {
    const fresh = (await blobs.prepareDownloads([key]))[0]?.download ?? null
    if (fresh === null) throw lost(entries)
    return fresh
  }
  const expected = { sha256: sha256OfKey(key), size: entries[0]?.size ?? 0 }
  await withRequest(
    request,
    renew,
    (ready) => downloadBlob(transport, ready, expected, file, signal),
    undefined,
    signal,
  )
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

/** Gives each entry its own file, with its mode; the first takes the one that is there. */
async function spread(
  input: StageInput,
  entries: ReadonlyArray<SandboxSnapshotFileEntry>,
  file: string,
  staged: Staged,
): Promise<void> {
  for (const [index, { path, mode }] of [...entries.entries()].reverse()) {
    const own = index === 0 ? file : `${file}.${index}`
    if (index > 0) await copyFile(file, own, constants.COPYFILE_FICLONE)
    await chmod(own, modeFor(mode))
    staged.files.set(path, own)
  }
  input.onBlob(entries[0]?.size ?? 0)
}

/** Set-user-id and the like are not restored: they would hand on the rights of whoever restores. */
function modeFor(mode: number | undefined): number {
  return mode === undefined ? 0o666 & ~process.umask() : mode & 0o777
}
