import type { Piece, PieceStore } from './types.ts'

/** Removes pieces, but not while somebody reads them. */
export class PieceLeases {
  private readonly store: PieceStore
  private readonly readers = new Map<string, number>()
  private readonly condemned = new Set<string>()

  constructor(store: PieceStore) {
    this.store = store
  }

  /** Keeps the pieces until the returned function is called. */
  hold(pieces: readonly Piece[]): () => Promise<void> {
    for (const { id } of pieces) this.readers.set(id, (this.readers.get(id) ?? 0) + 1)
    return async () => {
      for (const { id } of pieces) {
        const left = (this.readers.get(id) ?? 1) - 1
        if (left > 0) {
          this.readers.set(id, left)
          continue
        }
        this.readers.delete(id)
        if (this.condemned.delete(id)) await this.store.remove(id)
      }
    }
  }

  async remove(pieces: readonly Piece[]): Promise<void> {
    for (const { id } of pieces) {
      if (this.readers.has(id)) this.condemned.add(id)
      else await this.store.remove(id)
    }
  }
}
