import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type FileHandle, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Piece, PieceStore, PieceWriter, RecordStore, StoredRecords } from './types.ts'

/**
 * Up to this many bytes a piece is written in one call, when it is whole. Small files are written and read at once: a
 * round through the thread pool for each step takes many times as long as the step.
 */
const smallPiece = 64 * 1024
const readBuffer = 256 * 1024
const temporary = '.tmp'

/** Pieces as files of a folder. A record names a piece only when its file is whole; the next start removes the others. */
export class FolderPieces implements PieceStore {
  private readonly folder: string

  constructor(folder: string) {
    this.folder = join(folder, 'data')
    mkdirSync(this.folder, { recursive: true })
  }

  create(): PieceWriter {
    const id = randomUUID()
    const path = join(this.folder, id)
    const small: Buffer[] = []
    let size = 0
    let file: FileHandle | undefined
    const writeLarge = async (chunk: Buffer) => {
      if (!file) {
        file = await open(path, 'wx')
        await writeFully(file, Buffer.concat(small.splice(0)))
      }
      await writeFully(file, chunk)
    }
    return {
      write: (chunk) => {
        size += chunk.length
        if (size > smallPiece) return writeLarge(chunk)
        small.push(chunk)
      },
      finish: async () => {
        if (file) await file.close()
        else writeFileSync(path, Buffer.concat(small), { flag: 'wx' })
        return { id, size }
      },
      discard: async () => {
        await file?.close()
        if (file) await rm(path, { force: true })
      },
    }
  }

  async *read(piece: Piece, start: number, end: number): AsyncGenerator<Buffer, void> {
    const file = await open(join(this.folder, piece.id))
    try {
      for (let offset = start; offset < end; ) {
        const buffer = Buffer.allocUnsafe(Math.min(readBuffer, end - offset))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, offset)
        if (bytesRead === 0) throw new Error(`The data file ${piece.id} is shorter than its record says`)
        offset += bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    } finally {
      await file.close()
    }
  }

  async readAll(piece: Piece, start: number, end: number): Promise<Buffer> {
    const bytes = readFileSync(join(this.folder, piece.id))
    return bytes.subarray(start, end)
  }

  async remove(id: string): Promise<void> {
    rmSync(join(this.folder, id), { force: true })
  }

  async retainOnly(ids: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(this.folder)) if (!ids.has(name)) await this.remove(name)
  }
}

async function writeFully(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let offset = 0; offset < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, offset)
    offset += bytesWritten
  }
}

/** Records as JSON files, each written beside its place and renamed into it. */
export class FolderRecords implements RecordStore {
  private readonly folder: string
  private readonly made = new Set<string>()

  constructor(folder: string) {
    this.folder = folder
  }

  async save<Kind extends keyof StoredRecords>(kind: Kind, name: string, record: StoredRecords[Kind]): Promise<void> {
    const path = this.path(kind, name)
    const beside = `${path}.${randomUUID()}${temporary}`
    writeFileSync(beside, JSON.stringify(record))
    renameSync(beside, path)
  }

  async remove(kind: keyof StoredRecords, name: string): Promise<void> {
    rmSync(this.path(kind, name), { force: true })
  }

  load<Kind extends keyof StoredRecords>(kind: Kind): StoredRecords[Kind][] {
    const folder = this.open(kind)
    const records: StoredRecords[Kind][] = []
    for (const name of readdirSync(folder)) {
      const path = join(folder, name)
      if (name.endsWith(temporary)) rmSync(path)
      else records.push(JSON.parse(readFileSync(path, 'utf8')))
    }
    return records
  }

  private open(kind: string): string {
    const folder = join(this.folder, kind)
    if (!this.made.has(kind)) mkdirSync(folder, { recursive: true })
    this.made.add(kind)
    return folder
  }

  /** Names are hashed: a key may be longer than a file name and hold any character. */
  private path(kind: string, name: string): string {
    return join(this.open(kind), `${createHash('sha256').update(name).digest('hex')}.json`)
  }
}
