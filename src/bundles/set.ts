import type { Bundle, SizedBlob } from './types.ts'

/** The list of a workspace's bundles, as an object: with a hundred thousand blobs no item of the table would hold it. */

const FORMAT = 1
const HASH_BYTES = 32
const BLOB_BYTES = HASH_BYTES + 4
const KEY_PREFIX = 'sandbox-files/sha256/'

interface SetJson {
  format: number
  bundles: Array<{ id: string; blobs: string }>
}

export function encodeSet(bundles: readonly Bundle[]): Buffer {
  const json: SetJson = {
    format: FORMAT,
    bundles: bundles.map(({ id, blobs }) => ({ id, blobs: pack(blobs).toString('base64') })),
  }
  return Buffer.from(JSON.stringify(json))
}

/** Of a list that another version wrote: no bundles. */
export function decodeSet(bytes: Uint8Array): Bundle[] {
  const { format, bundles } = JSON.parse(Buffer.from(bytes).toString()) as SetJson
  if (format !== FORMAT) return []
  return bundles.map(({ id, blobs }) => ({ id, blobs: unpack(Buffer.from(blobs, 'base64')) }))
}

function pack(blobs: readonly SizedBlob[]): Buffer {
  const packed = Buffer.allocUnsafe(blobs.length * BLOB_BYTES)
  for (const [index, { key, size }] of blobs.entries()) {
    packed.write(key.slice(KEY_PREFIX.length), index * BLOB_BYTES, HASH_BYTES, 'hex')
    packed.writeUInt32BE(size, index * BLOB_BYTES + HASH_BYTES)
  }
  return packed
}

function unpack(packed: Buffer): SizedBlob[] {
  const blobs: SizedBlob[] = []
  for (let at = 0; at < packed.length; at += BLOB_BYTES) {
    const hash = packed.toString('hex', at, at + HASH_BYTES)
    blobs.push({ key: KEY_PREFIX + hash, size: packed.readUInt32BE(at + HASH_BYTES) })
  }
  return blobs
}
