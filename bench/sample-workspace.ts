import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pMap from 'p-map'

const FILES_PER_FOLDER = 100
const BLOCK_BYTES = 1_048_576

/** Writes a workspace of files of one size; `distinct`: how many contents there are among them. */
export async function writeWorkspace(
  root: string,
  { files, bytes, distinct = files }: { files: number; bytes: number; distinct?: number },
): Promise<void> {
  for (let folder = 0; folder * FILES_PER_FOLDER < files; folder++)
    await mkdir(folderOf(root, folder), { recursive: true })
  const indexes = Array.from({ length: files }, (_, index) => index)
  await pMap(indexes, (index) => writeFile(samplePath(root, index), content(String(index % distinct), bytes)), {
    concurrency: 16,
  })
}

/** Gives so many files of the workspace new contents. */
export async function changeFiles(
  root: string,
  { files, bytes, changes, generation }: { files: number; bytes: number; changes: number; generation: string },
): Promise<void> {
  for (let change = 0; change < changes; change++) {
    const index = Math.floor((change * files) / changes)
    await writeFile(samplePath(root, index), content(`${index}:${generation}`, bytes))
  }
}

/** Writes one large file, of a size in whole MiB. */
export async function writeLargeFile(root: string, mebibytes: number): Promise<void> {
  await mkdir(root, { recursive: true })
  const blocks = function* () {
    for (let index = 0; index < mebibytes; index++) yield content(`block ${index}`, BLOCK_BYTES)
  }
  await pipeline(Readable.from(blocks()), createWriteStream(path.join(root, 'large.bin')))
}

function samplePath(root: string, index: number): string {
  return path.join(folderOf(root, Math.floor(index / FILES_PER_FOLDER)), `file-${index}.bin`)
}

function folderOf(root: string, folder: number): string {
  return path.join(root, `group-${folder % 10}`, `folder-${folder}`)
}

/** Bytes that do not compress, the same for the same seed. */
function content(seed: string, bytes: number): Buffer {
  return createHash('shake256', { outputLength: bytes }).update(seed).digest()
}
