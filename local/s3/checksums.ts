import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { Crc64Nvme, crc32c } from './crc.ts'
import { S3Error } from './errors.ts'

const sizes = { CRC32: 4, CRC32C: 4, CRC64NVME: 8, SHA1: 20, SHA256: 32 } as const

export type ChecksumAlgorithm = keyof typeof sizes
export const checksumAlgorithms = Object.keys(sizes).filter(isChecksumAlgorithm)

export type ChecksumType = 'FULL_OBJECT' | 'COMPOSITE'

/** A checksum as S3 keeps it: base64, with `-parts` behind it when it is the checksum of the parts' checksums. */
export interface Checksum {
  algorithm: ChecksumAlgorithm
  type: ChecksumType
  value: string
}

export function isChecksumAlgorithm(name: string): name is ChecksumAlgorithm {
  return Object.hasOwn(sizes, name)
}

export function checksumHeader(algorithm: ChecksumAlgorithm): string {
  return `x-amz-checksum-${algorithm.toLowerCase()}`
}

/** The algorithm that a header or trailer of this name belongs to. */
export function algorithmOfHeader(name: string): ChecksumAlgorithm | undefined {
  return checksumAlgorithms.find((algorithm) => checksumHeader(algorithm) === name.toLowerCase())
}

interface Digest {
  update(bytes: Uint8Array): void
  digest(): Buffer
}

/** A running checksum. */
export function createDigest(algorithm: ChecksumAlgorithm): Digest {
  if (algorithm === 'SHA1' || algorithm === 'SHA256') return createHash(algorithm.toLowerCase())
  if (algorithm === 'CRC64NVME') return new Crc64Nvme()
  const step: (bytes: Uint8Array, previous: number) => number = algorithm === 'CRC32' ? crc32 : crc32c
  let value = 0
  return {
    update: (bytes) => {
      value = step(bytes, value)
    },
    digest: () => {
      const result = Buffer.alloc(4)
      result.writeUInt32BE(value)
      return result
    },
  }
}

/** @throws S3Error InvalidRequest when the value is not base64 of the algorithm's length. */
export function assertChecksumValue(algorithm: ChecksumAlgorithm, value: string): void {
  const bytes = Buffer.from(value, 'base64')
  if (bytes.length !== sizes[algorithm] || bytes.toString('base64') !== value) {
    throw new S3Error('InvalidRequest', `Value for ${checksumHeader(algorithm)} header is invalid.`)
  }
}

/**
 * The one checksum that the headers state, or undefined.
 * @throws S3Error InvalidRequest when there is more than one, or its value is none.
 */
export function statedChecksum(
  headers: Readonly<Record<string, string>>,
): { algorithm: ChecksumAlgorithm; value: string } | undefined {
  const stated = checksumAlgorithms.flatMap((algorithm) => {
    const value = headers[checksumHeader(algorithm)]
    return value === undefined ? [] : [{ algorithm, value }]
  })
  if (stated.length > 1) {
    throw new S3Error(
      'InvalidRequest',
      'Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.',
    )
  }
  const [checksum] = stated
  if (checksum) assertChecksumValue(checksum.algorithm, checksum.value)
  return checksum
}

/** The checksum of the parts' checksums, in their order. */
export function compositeChecksum(algorithm: ChecksumAlgorithm, parts: readonly string[]): string {
  const digest = createDigest(algorithm)
  for (const part of parts) digest.update(Buffer.from(part, 'base64'))
  return `${digest.digest().toString('base64')}-${parts.length}`
}
