import { createHash, type Hash } from 'node:crypto'
import type { Authorized } from './auth.ts'
import {
  algorithmOfHeader,
  assertChecksumValue,
  type ChecksumAlgorithm,
  checksumHeader,
  createDigest,
  statedChecksum,
} from './checksums.ts'
import { decodeChunks } from './chunked.ts'
import { S3Error } from './errors.ts'

/** Bytes of the largest single upload. */
export const maxUploadBytes = 5 * 1024 ** 3
/** Bytes of the largest document in a request: 1,000 keys to delete, with room for their escapes. */
const maxDocumentBytes = 8 * 1024 ** 2

/** Takes the bytes of a body; it is not complete until `receive` returns. */
export interface Sink {
  write(chunk: Buffer): Promise<void> | void
}

/** What was received and verified. */
export interface Received {
  size: number
  /** MD5, hexadecimal. */
  md5: string
  /** The checksum that the client stated; a CRC32 where it stated none. */
  checksum: { algorithm: ChecksumAlgorithm; value: string }
}

/** The body of an authorized request: its framing undone, its length and digests verified. */
export class Payload {
  private readonly authorized: Authorized
  private readonly chunked: boolean
  /** Bytes without the framing. */
  readonly size: number
  /** The algorithm of the checksum that comes with the body. */
  readonly algorithm: ChecksumAlgorithm | undefined
  private readonly stated: { algorithm: ChecksumAlgorithm; value: string } | undefined

  /** @throws S3Error when headers state what cannot be, before any byte of the body is read */
  constructor(authorized: Authorized) {
    const { request, payloadHash } = authorized
    this.authorized = authorized
    this.chunked = payloadHash.startsWith('STREAMING-')
    if (
      !/^([0-9a-f]{64}|UNSIGNED-PAYLOAD|STREAMING-(UNSIGNED-PAYLOAD-TRAILER|AWS4-HMAC-SHA256-PAYLOAD(-TRAILER)?))$/.test(
        payloadHash,
      )
    ) {
      throw new S3Error(
        'InvalidArgument',
        'x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 value.',
      )
    }
    const length = request.headers[this.chunked ? 'x-amz-decoded-content-length' : 'content-length']
    if (length === undefined) throw new S3Error('MissingContentLength')
    if (!/^\d{1,15}$/.test(length)) throw new S3Error('InvalidArgument', 'The length of the body is no number')
    this.size = Number(length)
    if (this.size > maxUploadBytes) {
      throw new S3Error('EntityTooLarge', undefined, {
        ProposedSize: length,
        MaxSizeAllowed: String(maxUploadBytes),
      })
    }
    assertMd5(request.headers['content-md5'])
    this.stated = statedChecksum(request.headers)
    const trailer = request.headers['x-amz-trailer']
    const trailerAlgorithm = trailer === undefined ? undefined : algorithmOfHeader(trailer.trim())
    if (trailer !== undefined && (!trailerAlgorithm || !payloadHash.endsWith('-TRAILER'))) {
      throw new S3Error('InvalidRequest', 'The value specified in the x-amz-trailer header is not supported')
    }
    if (this.stated && trailerAlgorithm) {
      throw new S3Error('InvalidRequest', 'Expecting a single x-amz-checksum- header')
    }
    this.algorithm = this.stated?.algorithm ?? trailerAlgorithm
  }

  /**
   * Reads the whole body into the sink and verifies it.
   * @throws S3Error BadDigest, XAmzContentSHA256Mismatch, IncompleteBody or SignatureDoesNotMatch; the sink must then be discarded
   */
  async receive(sink: Sink): Promise<Received> {
    const { request, payloadHash } = this.authorized
    const md5 = createHash('md5')
    const algorithm = this.algorithm ?? 'CRC32'
    const digest = createDigest(algorithm)
    let sha256: Hash | undefined
    if (/^[0-9a-f]{64}$/.test(payloadHash)) sha256 = createHash('sha256')
    let trailers: Record<string, string> = {}
    let size = 0
    const decoded = this.decode((received) => {
      trailers = received
    })
    for await (const chunk of decoded) {
      size += chunk.length
      if (size > this.size) throw new S3Error('IncompleteBody')
      md5.update(chunk)
      digest.update(chunk)
      sha256?.update(chunk)
      const written = sink.write(chunk)
      if (written) await written
    }
    if (size !== this.size) throw new S3Error('IncompleteBody')
    const computed = sha256?.digest('hex')
    if (computed !== undefined && computed !== payloadHash) {
      throw new S3Error('XAmzContentSHA256Mismatch', undefined, {
        ClientComputedContentSHA256: payloadHash,
        S3ComputedContentSHA256: computed,
      })
    }
    const md5Bytes = md5.digest()
    const statedMd5 = request.headers['content-md5']
    if (statedMd5 !== undefined && statedMd5 !== md5Bytes.toString('base64')) throw new S3Error('BadDigest')
    const checksum = { algorithm, value: digest.digest().toString('base64') }
    if (this.algorithm) this.verifyChecksum(checksum, trailers)
    return { size, md5: md5Bytes.toString('hex'), checksum }
  }

  /** The whole body, of a document. */
  async document(): Promise<Buffer> {
    if (this.size > maxDocumentBytes) throw new S3Error('MalformedXML')
    if (this.size === 0) throw new S3Error('MissingRequestBodyError')
    const chunks: Buffer[] = []
    await this.receive({ write: (chunk) => void chunks.push(chunk) })
    return Buffer.concat(chunks)
  }

  private decode(onTrailers: (trailers: Record<string, string>) => void): AsyncIterable<Buffer> {
    const { request, payloadHash, chunkSigning } = this.authorized
    if (!this.chunked) return request.body
    const signing = payloadHash.startsWith('STREAMING-AWS4-HMAC') ? chunkSigning : undefined
    return decodeChunks(request.body, signing, payloadHash.endsWith('-TRAILER'), onTrailers)
  }

  private verifyChecksum(
    checksum: { algorithm: ChecksumAlgorithm; value: string },
    trailers: Readonly<Record<string, string>>,
  ): void {
    const { algorithm, value } = checksum
    const stated = this.stated?.value ?? trailers[checksumHeader(algorithm)]
    if (stated === undefined) {
      throw new S3Error('InvalidRequest', `The trailing header ${checksumHeader(algorithm)} is missing`)
    }
    assertChecksumValue(algorithm, stated)
    if (stated !== value) {
      throw new S3Error('BadDigest', `The ${algorithm} you specified did not match the calculated checksum.`)
    }
  }
}

function assertMd5(value: string | undefined): void {
  if (value !== undefined && !/^[A-Za-z0-9+/]{22}==$/.test(value)) throw new S3Error('InvalidDigest')
}
