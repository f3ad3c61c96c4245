import { randomInt } from 'node:crypto'
import { blobHash } from '../blobs/keys.ts'

const HASH_BYTES = 32
/** Kind and hash. */
const RECORD_BYTES = 1 + HASH_BYTES
const HASH_WORDS = HASH_BYTES / 4
const FIRST_SLOTS = 4_096
/** Steep, so that the slots of before are few beside the new ones while both are there. */
const GROWTH = 8
/** At most this share of the slots is used. */
const LOAD = 0.7

/** The first byte of a record, in the order of the keys; 0 marks a free slot. */
const ARTIFACT = 1
const FILE = 2

/**
 * A set of blob keys, and how often each was added, in bounded memory: 37 bytes a slot. When it is full it gives up the upper half of the keys: from
 * then on it covers those below, and the others take another pass.
 */
export class KeySet {
  readonly #maxSlots: number
  #slots = Buffer.alloc(FIRST_SLOTS * RECORD_BYTES)
  #counts = new Uint32Array(FIRST_SLOTS)
  #slotCount = FIRST_SLOTS
  #size = 0
  #limit: Buffer | undefined
  #from: Buffer
  /** Odd, at random: keys are the callers' to choose, but which of them collide is not. */
  readonly #factors = Array.from({ length: HASH_WORDS }, () => randomInt(2 ** 31) * 2 + 1)

  /** `from`: keys below it are left out. `maxSlots`: 1,500,000 slots are 53 MiB and hold 1,050,000 keys. */
  constructor({ from, maxSlots = 1_500_000 }: { from?: string | undefined; maxSlots?: number | undefined } = {}) {
    this.#maxSlots = Math.max(maxSlots, FIRST_SLOTS)
    this.#from = firstFrom(from)
  }

  /** Empties the set and begins anew, in the memory that it has. */
  reset(from?: string): void {
    this.#from = firstFrom(from)
    this.#limit = undefined
    this.#clear()
  }

  get size(): number {
    return this.#size
  }

  /** Adds a packed list of hashes, of which the first `fileKeys` are of files and the others of artifacts. */
  addPacked(packed: Buffer, fileKeys: number): void {
    for (let offset = 0; offset < packed.length; offset += HASH_BYTES) {
      this.#add(offset < fileKeys * HASH_BYTES ? FILE : ARTIFACT, packed, offset, 1)
    }
  }

  /** How often a key was added; undefined for one that the set does not cover. */
  count(key: string): number | undefined {
    const record = recordOf(key)
    if (this.#from.compare(record) > 0 || (this.#limit && this.#limit.compare(record) <= 0)) return undefined
    return this.#counts[this.#find(record[0] ?? 0, record, 1)] ?? 0
  }

  #add(kind: number, hashes: Buffer, offset: number, times: number): void {
    if (compare(this.#from, kind, hashes, offset) > 0) return
    if (this.#limit && compare(this.#limit, kind, hashes, offset) <= 0) return
    const index = this.#find(kind, hashes, offset)
    const slot = index * RECORD_BYTES
    if (this.#slots[slot] === 0) {
      if (this.#size + 1 > this.#slotCount * LOAD) {
        this.#makeRoom()
        this.#add(kind, hashes, offset, times)
        return
      }
      this.#slots[slot] = kind
      hashes.copy(this.#slots, slot + 1, offset, offset + HASH_BYTES)
      this.#size++
    }
    this.#counts[index] = (this.#counts[index] ?? 0) + times
  }

  /** The slot of the key, or the free one where it would lie. */
  #find(kind: number, hashes: Buffer, offset: number): number {
    let mixed = 0
    for (let word = 0; word < HASH_WORDS; word++) {
      mixed += Math.imul(hashes.readInt32LE(offset + word * 4), this.#factors[word] ?? 1)
    }
    // The upper bits are the mixed ones.
    let index = Math.floor(((mixed >>> 0) / 2 ** 32) * this.#slotCount)
    for (;;) {
      const slot = index * RECORD_BYTES
      const known = this.#slots[slot]
      if (known === 0) return index
      if (
        known === kind &&
        hashes.compare(this.#slots, slot + 1, slot + RECORD_BYTES, offset, offset + HASH_BYTES) === 0
      ) {
        return index
      }
      index = (index + 1) % this.#slotCount
    }
  }

  #makeRoom(): void {
    const grows = this.#slotCount < this.#maxSlots
    if (!grows) this.#limit = this.#median()
    const kept = this.#records()
    if (grows) {
      this.#slotCount = Math.min(this.#slotCount * GROWTH, this.#maxSlots)
      this.#slots = Buffer.alloc(this.#slotCount * RECORD_BYTES)
      this.#counts = new Uint32Array(this.#slotCount)
    }
    this.#clear()
    for (const [index, count] of kept.counts.entries()) {
      const record = index * RECORD_BYTES
      this.#add(kept.records[record] ?? 0, kept.records, record + 1, count)
    }
  }

  #clear(): void {
    this.#slots.fill(0)
    this.#counts.fill(0)
    this.#size = 0
  }

  /** A copy of the records below the limit, without free slots between. */
  #records(): { records: Buffer; counts: Uint32Array } {
    const records = Buffer.alloc(this.#size * RECORD_BYTES)
    const counts = new Uint32Array(this.#size)
    let size = 0
    for (const [index, count] of this.#counts.entries()) {
      const slot = index * RECORD_BYTES
      const kind = this.#slots[slot] ?? 0
      if (count === 0 || (this.#limit && compare(this.#limit, kind, this.#slots, slot + 1) <= 0)) continue
      this.#slots.copy(records, size * RECORD_BYTES, slot, slot + RECORD_BYTES)
      counts[size++] = count
    }
    return { records: records.subarray(0, size * RECORD_BYTES), counts: counts.subarray(0, size) }
  }

  /** A record with about as many keys below it as above: exact to the first four bytes of the hash. */
  #median(): Buffer {
    const heads = new Float64Array(this.#size)
    let count = 0
    for (let slot = 0; slot < this.#slots.length; slot += RECORD_BYTES) {
      const kind = this.#slots[slot] ?? 0
      if (kind !== 0) heads[count++] = kind * 2 ** 32 + this.#slots.readUInt32BE(slot + 1)
    }
    const middle = heads.sort()[count >> 1] ?? 0
    const record = Buffer.alloc(RECORD_BYTES)
    record[0] = Math.floor(middle / 2 ** 32)
    record.writeUInt32BE(middle % 2 ** 32, 1)
    return record
  }
}

function firstFrom(key: string | undefined): Buffer {
  return key === undefined ? Buffer.alloc(RECORD_BYTES) : recordOf(key)
}

function compare(record: Buffer, kind: number, hashes: Buffer, offset: number): number {
  return (record[0] ?? 0) - kind || record.compare(hashes, offset, offset + HASH_BYTES, 1, RECORD_BYTES)
}

function recordOf(key: string): Buffer {
  const record = Buffer.alloc(RECORD_BYTES)
  record[0] = key.startsWith('sandbox-files/') ? FILE : ARTIFACT
  record.write(blobHash(key), 1, 'hex')
  return record
}
