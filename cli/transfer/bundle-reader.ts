import { hash } from 'node:crypto'
import type { BundleEntry } from '../../src/bundles/types.ts'
import { DamagedContentError } from '../errors.ts'
import { sha256OfKey } from '../workspace/manifest.ts'

/** Takes the wanted blobs out of a bundle as its bytes come. One blob, and what came with it, is in memory. */
export class BundleReader {
  readonly #entries: readonly BundleEntry[]
  readonly #take: (entry: BundleEntry, bytes: Buffer) => void
  #next = 0
  /** What came and may still be wanted, and where in the bundle it begins. */
  #pieces: Buffer[] = []
  #start = 0
  #end = 0

  /** `entries`: by offset. `take` is given each with its bytes, once they are known to be the right ones. */
  constructor(entries: readonly BundleEntry[], take: (entry: BundleEntry, bytes: Buffer) => void) {
    this.#entries = entries
    this.#take = take
  }

  /** How many bytes came. */
  get length(): number {
    return this.#end
  }

  get isDone(): boolean {
    return this.#next === this.#entries.length
  }

  /** @throws DamagedContentError at the first blob that is not the expected one; those before it were good */
  push(chunk: Buffer): void {
    this.#pieces.push(chunk)
    this.#end += chunk.length
    for (;;) {
      const entry = this.#entries[this.#next]
      this.#skipTo(entry?.offset ?? this.#end)
      if (entry === undefined || this.#end < entry.offset + entry.size) return
      const bytes = this.#first(entry.size)
      // An offset that goes back, into what was let go, gives other bytes, and so another hash.
      if (hash('sha256', bytes) !== sha256OfKey(entry.key)) throw damaged(entry)
      this.#take(entry, bytes)
      this.#next += 1
    }
  }

  /** @throws DamagedContentError when bytes are missing */
  finish(): void {
    const entry = this.#entries[this.#next]
    if (entry !== undefined) throw damaged(entry)
  }

  #skipTo(offset: number): void {
    let passed = 0
    for (const piece of this.#pieces) {
      if (this.#start + piece.length > offset) break
      this.#start += piece.length
      passed += 1
    }
    if (passed > 0) this.#pieces = this.#pieces.slice(passed)
    const [first] = this.#pieces
    if (first === undefined || offset <= this.#start) return
    this.#pieces[0] = first.subarray(offset - this.#start)
    this.#start = offset
  }

  /** The first bytes of what is kept; a copy only where they came in pieces. */
  #first(size: number): Buffer {
    const [first] = this.#pieces
    return first !== undefined && first.length >= size ? first.subarray(0, size) : Buffer.concat(this.#pieces, size)
  }
}

function damaged({ key }: BundleEntry): DamagedContentError {
  return new DamagedContentError(`A bundle does not hold ${key} where it should.`)
}
