import type { PieceStore, PieceWriter, RecordStore } from './types.ts'

/** Records that nobody reads again: the catalog holds them anyway. */
export const noRecords: RecordStore = {
  async save() {
    // Memory ends with the process.
  },
  async remove() {
    // Nothing was kept.
  },
  load: () => [],
}

/** Pieces in memory. */
export class MemoryPieces implements PieceStore {
  private readonly chunks = new Map<string, Buffer[]>()
  private last = 0

  create(): PieceWriter {
    const chunks: Buffer[] = []
    let size = 0
    return {
      write: (chunk) => {
        chunks.push(owned(chunk))
        size += chunk.length
      },
      finish: async () => {
        const id = String(++this.last)
        this.chunks.set(id, chunks)
        return { id, size }
      },
      discard: async () => {
        chunks.length = 0
      },
    }
  }

  async *read(piece: { id: string }, start: number, end: number): AsyncGenerator<Buffer, void> {
    yield* this.slices(piece.id, start, end)
  }

  async readAll(piece: { id: string }, start: number, end: number): Promise<Buffer> {
    const slices = this.slices(piece.id, start, end)
    return slices.length === 1 && slices[0] ? slices[0] : Buffer.concat(slices)
  }

  async remove(id: string): Promise<void> {
    this.chunks.delete(id)
  }

  async retainOnly(ids: ReadonlySet<string>): Promise<void> {
    for (const id of this.chunks.keys()) if (!ids.has(id)) this.chunks.delete(id)
  }

  private slices(id: string, start: number, end: number): Buffer[] {
    const slices: Buffer[] = []
    let offset = 0
    for (const chunk of this.chunks.get(id) ?? []) {
      const from = Math.max(start - offset, 0)
      const to = Math.min(end - offset, chunk.length)
      if (from < to) slices.push(chunk.subarray(from, to))
      offset += chunk.length
    }
    return slices
  }
}

/** A small chunk is often a view of a much larger read buffer, which it would keep alive. */
function owned(chunk: Buffer): Buffer {
  return chunk.buffer.byteLength > 2 * chunk.length ? Buffer.from(new Uint8Array(chunk).buffer) : chunk
}
