import { createHash, type Hash } from 'node:crypto'
import { S3Error } from './errors.ts'
import { type Signer, sameSignature } from './signature.ts'

const emptyHash = createHash('sha256').digest('hex')
/** Bytes of the longest line between chunks. */
const maxLine = 8192

/** What the signatures of a body's chunks are made from: each covers the one before it, the first the request's. */
export interface ChunkSigning {
  signer: Signer
  /** `x-amz-date` */
  date: string
  /** The signature of the request. */
  seed: string
}

/**
 * The bytes of an aws-chunked body.
 * @param signing when each chunk is signed
 * @param onTrailers called at the end with the trailing headers by lower-case name, if `hasTrailers`
 * @throws S3Error IncompleteBody or InvalidRequest when the form is broken, SignatureDoesNotMatch for a wrong chunk
 */
export async function* decodeChunks(
  source: AsyncIterable<Buffer>,
  signing: ChunkSigning | undefined,
  hasTrailers: boolean,
  onTrailers: (trailers: Record<string, string>) => void,
): AsyncGenerator<Buffer, void> {
  const reader = new LineReader(source)
  try {
    yield* decode(reader, signing && new SignatureChain(signing), hasTrailers, onTrailers)
  } finally {
    await reader.close()
  }
}

async function* decode(
  reader: LineReader,
  chain: SignatureChain | undefined,
  hasTrailers: boolean,
  onTrailers: (trailers: Record<string, string>) => void,
): AsyncGenerator<Buffer, void> {
  for (;;) {
    const match = /^([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(await reader.line())
    if (!match) throw new S3Error('InvalidRequest', 'The aws-chunked body is malformed')
    const size = Number.parseInt(match[1] ?? '', 16)
    let hash: Hash | undefined
    if (chain) hash = createHash('sha256')
    for (let left = size; left > 0; ) {
      const piece = await reader.take(left)
      left -= piece.length
      hash?.update(piece)
      yield piece
    }
    if (hash) await chain?.check(`${emptyHash}\n${hash.digest('hex')}`, 'PAYLOAD', match[2])
    if (size === 0) break
    if ((await reader.line()) !== '') throw new S3Error('InvalidRequest', 'The aws-chunked body is malformed')
  }
  if (hasTrailers) onTrailers(await readTrailers(reader, chain))
  await reader.end()
}

async function readTrailers(reader: LineReader, chain: SignatureChain | undefined): Promise<Record<string, string>> {
  const trailers: Record<string, string> = {}
  let signed = ''
  for (let line = await reader.line(); line !== ''; line = await reader.line()) {
    const colon = line.indexOf(':')
    if (colon < 1) throw new S3Error('InvalidRequest', 'The trailing headers are malformed')
    const name = line.slice(0, colon).trim().toLowerCase()
    const value = line.slice(colon + 1).trim()
    if (name === 'x-amz-trailer-signature') {
      await chain?.check(createHash('sha256').update(signed).digest('hex'), 'TRAILER', value)
      return trailers
    }
    trailers[name] = value
    signed += `${name}:${value}\n`
  }
  if (chain) throw new S3Error('SignatureDoesNotMatch')
  return trailers
}

class SignatureChain {
  private readonly signing: ChunkSigning
  private previous: string
  constructor(signing: ChunkSigning) {
    this.signing = signing
    this.previous = signing.seed
  }

  async check(hashes: string, kind: 'PAYLOAD' | 'TRAILER', given: string | undefined): Promise<void> {
    const { signer, date } = this.signing
    const scope = signer.scope(date.slice(0, 8))
    const text = `AWS4-HMAC-SHA256-${kind}\n${date}\n${scope}\n${this.previous}\n${hashes}`
    const expected = await signer.signText(date, text)
    if (given === undefined || !sameSignature(expected, given)) throw new S3Error('SignatureDoesNotMatch')
    this.previous = expected
  }
}

/** Reads lines and runs of bytes from a stream of buffers. */
class LineReader {
  private readonly source: AsyncIterator<Buffer>
  private pending: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.source = source[Symbol.asyncIterator]()
  }

  /** Up to `limit` bytes, at least one. */
  async take(limit: number): Promise<Buffer> {
    if (this.pending.length === 0 && !(await this.fill())) throw new S3Error('IncompleteBody')
    const piece = this.pending.subarray(0, limit)
    this.pending = this.pending.subarray(piece.length)
    return piece
  }

  /** The bytes up to the next line end; what is left when the stream ends. */
  async line(): Promise<string> {
    let end = this.pending.indexOf('\r\n')
    while (end < 0) {
      if (this.pending.length > maxLine) throw new S3Error('InvalidRequest', 'The aws-chunked body is malformed')
      if (!(await this.fill())) {
        end = this.pending.length
        break
      }
      end = this.pending.indexOf('\r\n')
    }
    const line = this.pending.toString('latin1', 0, end)
    this.pending = this.pending.subarray(end + 2)
    return line
  }

  /** Reads on to the end of the stream, which holds at most one line end. */
  async end(): Promise<void> {
    while (this.pending.length <= 2 && (await this.fill()));
    if (this.pending.length > 0 && this.pending.toString('latin1') !== '\r\n') {
      throw new S3Error('InvalidRequest', 'The aws-chunked body is malformed')
    }
  }

  /** Gives the stream back, whose unread rest somebody else can then drain. */
  async close(): Promise<void> {
    await this.source.return?.()
  }

  private async fill(): Promise<boolean> {
    const next = await this.source.next()
    if (next.done) return false
    this.pending = this.pending.length === 0 ? next.value : Buffer.concat([this.pending, next.value])
    return true
  }
}
