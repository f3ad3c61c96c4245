import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BlobExchange } from '../../src/blobs/types.ts'
import type { SandboxSnapshotEntry, SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { hashBytes } from '../../src/text.ts'
import { changeLines } from '../change-lines.ts'
import { errnoOf } from '../errors.ts'
import type { Environment } from '../settings.ts'
import { readBlob } from '../transfer/download.ts'
import { withRequest } from '../transfer/retry.ts'
import { createTransport } from '../transfer/transport.ts'
import { openFile } from '../workspace/hash.ts'
import { compareEntries, sha256OfKey } from '../workspace/manifest.ts'

/** Larger files are told by name only, and so are those beyond the total or the number. */
const MAX_FILE_BYTES = 262_144
const MAX_TOTAL_BYTES = 8_388_608
const MAX_FILES = 500

type Entries = ReadonlyArray<SandboxSnapshotEntry>

export interface DiffInput {
  before: Entries
  after: Entries
  /** Where the files of `after` are. */
  root: string
  blobs: Pick<BlobExchange, 'prepareDownloads'>
  /** Gets the diff. */
  file: string
  /** A folder in which to make another. */
  folder: string
  env: Environment
  signal: AbortSignal
}

/**
 * Writes how a workspace has changed: a line for each path, then what changed in the small text files, as a unified diff
 * by git where it is installed.
 */
export async function writeDiff(input: DiffInput): Promise<void> {
  const { before, after, file } = input
  const differences = compareEntries(before, after)
  const lines = changeLines(differences)
  await writeFile(file, lines.length === 0 ? 'nothing changed\n' : `${lines.join('\n')}\n`, { mode: 0o600 })
  const { added, removed, changed } = differences
  const pairs: Pair[] = [
    ...added.map((entry) => ({ after: entry })),
    ...removed.map((entry) => ({ before: entry })),
    ...changed.filter(({ aspects }) => aspects.includes('content') || aspects.includes('kind')),
  ]
  const shown = smallOnes(pairs)
  if (shown.length === 0) return
  const folder = await mkdtemp(join(input.folder, 'diff-'))
  try {
    await writeOld(input, join(folder, 'a'), shown)
    await writeNew(input, join(folder, 'b'), shown)
    await appendGitDiff(folder, file, input.env)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Pair {
  before?: SandboxSnapshotEntry
  after?: SandboxSnapshotEntry
}

function smallOnes(pairs: readonly Pair[]): Pair[] {
  let total = 0
  const small: Pair[] = []
  for (const pair of pairs) {
    const sizes = [sizeOf(pair.before), sizeOf(pair.after)]
    const size = Math.max(...sizes)
    if (size > MAX_FILE_BYTES || total + size > MAX_TOTAL_BYTES || small.length === MAX_FILES) continue
    total += sizes.reduce((sum, one) => sum + one, 0)
    small.push(pair)
  }
  return small
}

function sizeOf(entry: SandboxSnapshotEntry | undefined): number {
  return entry?.kind === 'file' ? entry.size : 0
}

function filesOf(pairs: readonly Pair[], side: keyof Pair): SandboxSnapshotFileEntry[] {
  return pairs.flatMap((pair) => (pair[side]?.kind === 'file' ? [pair[side]] : []))
}

async function writeOld({ blobs, signal }: DiffInput, folder: string, pairs: readonly Pair[]): Promise<void> {
  await mkdir(folder)
  const files = filesOf(pairs, 'before')
  const keys = [...new Set(files.map(({ blobKey }) => blobKey))]
  if (keys.length === 0) return
  const transport = createTransport()
  try {
    const contents = new Map<string, Buffer | null>()
    for (const answer of await blobs.prepareDownloads(keys)) {
      if (answer.download === null) continue
      const expected = { sha256: sha256OfKey(answer.key), size: answer.size }
      const { download } = answer
      const content = await withRequest(
        download,
        async () => null,
        (request) => readBlob(transport, request, expected, signal),
        null,
        signal,
      )
      contents.set(answer.key, content)
    }
    for (const entry of files) await place(folder, entry, contents.get(entry.blobKey) ?? null)
  } finally {
    transport.close()
  }
}

/** A file that is not what was saved of it any more is left out. */
async function writeNew({ root }: DiffInput, folder: string, pairs: readonly Pair[]): Promise<void> {
  await mkdir(folder)
  for (const entry of filesOf(pairs, 'after')) await place(folder, entry, await readSaved(root, entry))
}

async function readSaved(root: string, { path, blobKey, size }: SandboxSnapshotFileEntry): Promise<Buffer | null> {
  try {
    const handle = await openFile(join(root, path))
    try {
      const buffer = Buffer.alloc(size)
      const { bytesRead } = await handle.read(buffer, 0, size, 0)
      return bytesRead === size && hashBytes(buffer) === sha256OfKey(blobKey) ? buffer : null
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

async function place(folder: string, { path }: SandboxSnapshotFileEntry, content: Buffer | null): Promise<void> {
  if (content === null) return
  const target = join(folder, path)
  try {
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, content, { flag: 'wx' })
  } catch (error) {
    // Nearer to the top, where the workspace is, there is room for it.
    if (errnoOf(error) !== 'ENAMETOOLONG') throw error
  }
}

/** Of git's settings none counts, and no program but git itself is run. */
async function appendGitDiff(folder: string, file: string, env: Environment): Promise<void> {
  const output = await open(file, 'a')
  try {
    const args = ['diff', '--no-index', '--no-color', '--no-ext-diff', '--no-textconv', '--no-renames', '--no-prefix']
    const child = spawn('git', [...args, 'a', 'b'], {
      cwd: folder,
      env: {
        PATH: env.PATH,
        HOME: folder,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CEILING_DIRECTORIES: dirname(folder),
      },
      stdio: ['ignore', output.fd, 'ignore'],
    })
    await once(child, 'close')
  } catch (error) {
    // Without git there are the names.
    if (errnoOf(error) === undefined) throw error
  } finally {
    await output.close()
  }
}
