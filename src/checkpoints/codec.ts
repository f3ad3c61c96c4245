import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { stringifyJson } from '../json.ts'
import { SandboxCheckpointInvalidEntryError } from './errors.ts'
import type { SandboxCheckpoint } from './types.ts'

const FILE_PREFIX = 'sandbox-files/sha256/'
const ARTIFACT_PREFIX = 'sandbox-artifacts/sha256/'
const KEY_BYTES = 32

/**
 * A checkpoint as it is stored: the distinct blob keys, 32 bytes each, and the rest as compressed JSON in which a blob
 * key is its index in that list. The list can so be read without the rest, and no hash is stored twice.
 */
export interface EncodedCheckpoint {
  /** The hashes of the file blobs, then those of the artifact blobs, each group sorted. */
  keys: Buffer
  fileKeys: number
  artifactKeys: number
  body: Buffer
  /** Bytes of the JSON text of the whole checkpoint, about: what a page of a list counts. */
  jsonBytes: number
}

/**
 * @throws SandboxCheckpointInvalidEntryError when the JSON text is longer than a string can be.
 */
export function encodeCheckpoint(checkpoint: SandboxCheckpoint): EncodedCheckpoint {
  const files = new KeyTable(
    FILE_PREFIX,
    checkpoint.files.flatMap((entry) => (entry.kind === 'file' ? entry.blobKey : [])),
  )
  const artifacts = new KeyTable(
    ARTIFACT_PREFIX,
    checkpoint.artifacts.map((artifact) => artifact.blobKey),
  )
  const text = stringify({
    ...checkpoint,
    parentCheckpointId: checkpoint.parentCheckpointId ?? null,
    files: checkpoint.files.map((entry) =>
      entry.kind === 'file' ? { ...entry, blobKey: files.indexOf(entry.blobKey) } : entry,
    ),
    artifacts: checkpoint.artifacts.map((artifact) => ({ ...artifact, blobKey: artifacts.indexOf(artifact.blobKey) })),
  })
  const bytes = Buffer.from(text)
  const keyCount = checkpoint.files.length + checkpoint.artifacts.length
  return {
    keys: Buffer.concat([files.packed(), artifacts.packed()]),
    fileKeys: files.size,
    artifactKeys: artifacts.size,
    body: zstdCompressSync(bytes),
    jsonBytes: bytes.length + keyCount * (ARTIFACT_PREFIX.length + 2 * KEY_BYTES),
  }
}

/** The checkpoint that was encoded: a fresh value, which the caller may change. */
export function decodeCheckpoint(encoded: Pick<EncodedCheckpoint, 'keys' | 'fileKeys' | 'body'>): SandboxCheckpoint {
  const checkpoint = JSON.parse(zstdDecompressSync(encoded.body).toString()) as SandboxCheckpoint
  const keys = unpackKeys(encoded.keys, encoded.fileKeys)
  for (const entry of checkpoint.files) if (entry.kind === 'file') restoreKey(entry, keys, 0)
  for (const artifact of checkpoint.artifacts) restoreKey(artifact, keys, encoded.fileKeys)
  return checkpoint
}

/** The blob keys of a packed list, of which the first `fileKeys` are of files and the others of artifacts. */
export function unpackKeys(packed: Buffer, fileKeys: number): string[] {
  const keys: string[] = []
  for (let index = 0; index * KEY_BYTES < packed.length; index++) {
    const hash = packed.toString('hex', index * KEY_BYTES, (index + 1) * KEY_BYTES)
    keys.push((index < fileKeys ? FILE_PREFIX : ARTIFACT_PREFIX) + hash)
  }
  return keys
}

/** Bytes of a packed list of so many keys. */
export function packedKeysLength(count: number): number {
  return count * KEY_BYTES
}

class KeyTable {
  readonly #prefix: string
  readonly #indexes: Map<string, number>

  constructor(prefix: string, keys: string[]) {
    this.#prefix = prefix
    this.#indexes = new Map([...new Set(keys)].sort().map((key, index) => [key, index]))
  }

  get size(): number {
    return this.#indexes.size
  }

  indexOf(key: string): number | undefined {
    return this.#indexes.get(key)
  }

  packed(): Buffer {
    const packed = Buffer.alloc(packedKeysLength(this.size))
    let offset = 0
    for (const key of this.#indexes.keys()) offset += packed.write(key.slice(this.#prefix.length), offset, 'hex')
    return packed
  }
}

function restoreKey(holder: { blobKey: string }, keys: string[], first: number): void {
  const key = keys[first + Number(holder.blobKey)]
  if (key === undefined) throw new Error('A stored checkpoint names a blob key that its list does not hold.')
  holder.blobKey = key
}

function stringify(value: unknown): string {
  try {
    return stringifyJson(value)
  } catch (cause) {
    // The values were checked: what is left is a text longer than a string can be (512 MiB).
    if (!(cause instanceof RangeError)) throw cause
    throw new SandboxCheckpointInvalidEntryError('The checkpoint is too large: its JSON text would exceed 512 MiB.')
  }
}
