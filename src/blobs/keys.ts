import { InvalidInputError } from '../errors.ts'

/** Where keys of blobs begin. */
export const BLOB_PREFIXES = ['sandbox-files/', 'sandbox-artifacts/'] as const

const keyPattern = /^sandbox-(?:files|artifacts)\/sha256\/([0-9a-f]{64})$/

/**
 * The SHA-256, in hex, that a blob key names.
 * @throws InvalidInputError unless the key is `sandbox-files/sha256/` or `sandbox-artifacts/sha256/` and 64 lowercase
 *   hex digits.
 */
export function blobHash(key: string, field = 'key'): string {
  const hash = typeof key === 'string' ? keyPattern.exec(key)?.[1] : undefined
  if (hash !== undefined) return hash
  throw new InvalidInputError(
    field,
    `${field} must be sandbox-files/sha256/ or sandbox-artifacts/sha256/ and 64 lowercase hex digits.`,
  )
}

/** @throws InvalidInputError unless the prefix is of the characters of blob keys, and no longer than one. */
export function checkPrefix(prefix: string): void {
  if (typeof prefix === 'string' && /^[a-z0-9/-]{0,90}$/.test(prefix)) return
  throw new InvalidInputError('prefix', 'prefix must be the beginning of a blob key: at most 90 of a-z 0-9 / -.')
}
