import type { Catalog } from '../storage/catalog.ts'
import type { Piece } from '../storage/types.ts'

/** The bytes from `start` up to, not including, `end` of the pieces together. The caller holds a lease on them. */
export async function* readPieces(
  catalog: Catalog,
  pieces: readonly Piece[],
  start: number,
  end: number,
): AsyncGenerator<Buffer, void> {
  let offset = 0
  for (const piece of pieces) {
    const from = Math.max(start - offset, 0)
    const to = Math.min(end - offset, piece.size)
    if (from < to) yield* catalog.pieces.read(piece, from, to)
    offset += piece.size
  }
}
