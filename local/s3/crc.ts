/** Checks that Node has no native form of: CRC-32C (Castagnoli) and CRC-64/NVME, both bit-reflected. */

const crc32cTable = new Uint32Array(256)
for (let byte = 0; byte < 256; byte++) {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  crc32cTable[byte] = value
}

/** CRC-32C of the bytes; pass the previous result to go on from it. */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  let crc = ~previous
  for (let index = 0; index < bytes.length; index++) {
    crc = (crc >>> 8) ^ (crc32cTable[(crc ^ (bytes[index] ?? 0)) & 0xff] ?? 0)
  }
  return ~crc >>> 0
}

// The 64 bits are kept as two halves: arithmetic on BigInt would be a hundred times slower.
const highTable = new Uint32Array(256)
const lowTable = new Uint32Array(256)
for (let byte = 0; byte < 256; byte++) {
  let high = 0
  let low = byte
  for (let bit = 0; bit < 8; bit++) {
    const carry = low & 1
    low = (low >>> 1) | ((high & 1) << 31)
    high >>>= 1
    if (carry) {
      high ^= 0x9a6c9329
      low ^= 0xac4bc9b5
    }
  }
  highTable[byte] = high
  lowTable[byte] = low
}

/** A running CRC-64/NVME. */
export class Crc64Nvme {
  private high = 0xffffffff
  private low = 0xffffffff

  update(bytes: Uint8Array): void {
    let high = this.high
    let low = this.low
    for (let index = 0; index < bytes.length; index++) {
      const slot = (low ^ (bytes[index] ?? 0)) & 0xff
      low = ((low >>> 8) | (high << 24)) ^ (lowTable[slot] ?? 0)
      high = (high >>> 8) ^ (highTable[slot] ?? 0)
    }
    this.high = high
    this.low = low
  }

  /** Eight bytes, most significant first. */
  digest(): Buffer {
    const result = Buffer.alloc(8)
    result.writeUInt32BE(~this.high >>> 0, 0)
    result.writeUInt32BE(~this.low >>> 0, 4)
    return result
  }
}
