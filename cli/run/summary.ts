import { realpath } from 'node:fs/promises'
import { MAX_SUMMARY_BYTES } from '../../src/limits.ts'
import { errnoOf } from '../errors.ts'
import { openFile } from '../workspace/hash.ts'
import { join } from '../workspace/paths.ts'

/** What is in it is no part of the workspace. */
export const OWN_FOLDER = '.sandkeep'

/** Where a command leaves the summary of its turn, in its workspace. */
export const SUMMARY_FILE = `${OWN_FOLDER}/summary.md`

/** What is no part of the workspace. */
export function isRunsOwn(path: string): boolean {
  return path === OWN_FOLDER || path.startsWith(`${OWN_FOLDER}/`)
}

/** The summary that the command has left, cut where it is too long; null for none that can be read. No link is followed. */
export async function readSummary(root: string): Promise<string | null> {
  try {
    const path = join(root, SUMMARY_FILE)
    return (await realpath(path)) === path ? await readStart(path) : null
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

async function readStart(path: string): Promise<string | null> {
  const handle = await openFile(path)
  try {
    if (!(await handle.stat()).isFile()) return null
    const buffer = Buffer.alloc(MAX_SUMMARY_BYTES)
    let length = 0
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = (await handle.read(buffer, length, buffer.length - length, length)).bytesRead
    }
    return textOf(buffer.subarray(0, length))
  } finally {
    await handle.close()
  }
}

/** Half a character at the end is left out; what is not UTF-8 otherwise shows as such, in as many bytes at most. */
function textOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes, { stream: true })
  if (Buffer.byteLength(text) <= MAX_SUMMARY_BYTES) return text
  return new TextDecoder().decode(Buffer.from(text).subarray(0, MAX_SUMMARY_BYTES), { stream: true })
}
