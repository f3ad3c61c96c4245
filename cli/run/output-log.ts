import { createReadStream, createWriteStream } from 'node:fs'
import { access, appendFile, type FileHandle, open, rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { errnoOf } from '../errors.ts'

/** Three parts are kept at most, which an artifact can hold. */
const PART_BYTES = 16_000_000
const LEFT_OUT = '\n[sandkeep: some of the output is left out here]\n'

const endOf = (file: string) => `${file}.end`
const beforeEndOf = (file: string) => `${file}.before-end`

/**
 * What a command writes, on the disk as it comes: all of it, or of very much the beginning and the end. One write after
 * the other.
 */
export class OutputLog {
  readonly #file: string
  readonly #partBytes: number
  #handle: FileHandle
  #parts = 1
  #inPart = 0

  private constructor(file: string, handle: FileHandle, partBytes: number) {
    this.#file = file
    this.#handle = handle
    this.#partBytes = partBytes
  }

  static async create(file: string, partBytes = PART_BYTES): Promise<OutputLog> {
    return new OutputLog(file, await open(file, 'w', 0o600), partBytes)
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (this.#inPart + chunk.length > this.#partBytes) await this.#nextPart()
    await this.#handle.appendFile(chunk)
    this.#inPart += chunk.length
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** The first part stays, and of the others the latest two. */
  async #nextPart(): Promise<void> {
    await this.#handle.close()
    this.#parts += 1
    this.#inPart = 0
    if (this.#parts > 2) await rename(endOf(this.#file), beforeEndOf(this.#file))
    if (this.#parts === 4) await appendFile(this.#file, LEFT_OUT)
    this.#handle = await open(endOf(this.#file), 'w', 0o600)
  }
}

/**
 * Makes one file of the parts that a log has come to; an empty one where it is gone. What fails half-way, or is killed,
 * is finished by doing it again: no part comes to be in the log twice.
 */
export async function joinLog(file: string): Promise<void> {
  const joined = `${file}.joined`
  const parts = [beforeEndOf(file), endOf(file)]
  if (!(await isThere(joined))) {
    await appendFile(file, '', { mode: 0o600 })
    if (!(await isThere(endOf(file)))) return
    const temporary = `${file}.joining`
    await pipeline(bytesOf([file, ...parts]), createWriteStream(temporary, { mode: 0o600 }))
    await rename(temporary, joined)
  }
  for (const part of parts) await rm(part, { force: true })
  await rename(joined, file)
}

async function* bytesOf(files: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const file of files) if (await isThere(file)) yield* createReadStream(file) as AsyncIterable<Uint8Array>
}

async function isThere(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    return false
  }
}
