import type { ChunkSigning } from './chunked.ts'
import { S3Error } from './errors.ts'
import type { S3Request } from './request.ts'
import { type Signer, sameSignature } from './signature.ts'

const maxSkewMs = 15 * 60_000
const maxPresignedSeconds = 7 * 24 * 3600
const presignedParameters = new Set([
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-security-token',
  'x-amz-signature',
  'x-amz-signedheaders',
])

/** What a valid signature says of the body. */
export interface Authorized {
  /** The request with those headers that a presigned URL carries in its query. */
  request: S3Request
  /** `x-amz-content-sha256`: the hash in hexadecimal, UNSIGNED-PAYLOAD, or the name of a chunked form. */
  payloadHash: string
  chunkSigning: ChunkSigning
}

interface Claim {
  credential: string
  signedHeaders: string[]
  signature: string
  date: string
}

/**
 * Checks the signature of a request, in its headers or in its query.
 * @param nowMs milliseconds since the epoch
 * @throws S3Error with S3's code for each way to fail
 */
export async function authorize(request: S3Request, signer: Signer, nowMs: number): Promise<Authorized> {
  const header = request.headers.authorization
  const presigned = request.query.has('X-Amz-Signature') || request.query.has('X-Amz-Algorithm')
  if (header !== undefined && presigned) {
    throw new S3Error(
      'InvalidArgument',
      'Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified',
    )
  }
  if (header !== undefined) return authorizeHeader(request, header, signer, nowMs)
  if (presigned) return authorizeQuery(request, signer, nowMs)
  throw new S3Error('AccessDenied')
}

async function authorizeHeader(request: S3Request, header: string, signer: Signer, nowMs: number): Promise<Authorized> {
  if (!header.startsWith('AWS4-HMAC-SHA256 ')) {
    throw new S3Error(
      'InvalidRequest',
      'The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.',
    )
  }
  const fields = new Map(
    header
      .slice('AWS4-HMAC-SHA256 '.length)
      .split(',')
      .map((field): [string, string] => {
        const equals = field.indexOf('=')
        return [field.slice(0, equals).trim(), field.slice(equals + 1).trim()]
      }),
  )
  const claim = {
    credential: fields.get('Credential') ?? '',
    signedHeaders: (fields.get('SignedHeaders') ?? '').split(';'),
    signature: fields.get('Signature') ?? '',
    date: request.headers['x-amz-date'] ?? '',
  }
  const signedAt = parseDate(claim.date)
  if (signedAt === undefined) {
    throw new S3Error('AccessDenied', 'AWS authentication requires a valid Date or x-amz-date header')
  }
  const payloadHash = request.headers['x-amz-content-sha256']
  if (payloadHash === undefined) {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256')
  }
  checkCredential(claim, signer, 'AuthorizationHeaderMalformed')
  if (Math.abs(nowMs - signedAt) > maxSkewMs) {
    throw new S3Error('RequestTimeTooSkewed', undefined, {
      RequestTime: claim.date,
      ServerTime: new Date(nowMs).toISOString(),
      MaxAllowedSkewMilliseconds: String(maxSkewMs),
    })
  }
  return checkSignature(request, request, claim, payloadHash, signer)
}

async function authorizeQuery(request: S3Request, signer: Signer, nowMs: number): Promise<Authorized> {
  const parameter = (name: string) => {
    const value = request.query.get(name)
    if (value === undefined || value === '') {
      throw new S3Error('AuthorizationQueryParametersError', `Query-string authentication requires ${name}`)
    }
    return value
  }
  if (parameter('X-Amz-Algorithm') !== 'AWS4-HMAC-SHA256') {
    throw new S3Error('AuthorizationQueryParametersError', 'X-Amz-Algorithm only supports "AWS4-HMAC-SHA256"')
  }
  const claim = {
    credential: parameter('X-Amz-Credential'),
    signedHeaders: parameter('X-Amz-SignedHeaders').split(';'),
    signature: parameter('X-Amz-Signature'),
    date: parameter('X-Amz-Date'),
  }
  const signedAt = parseDate(claim.date)
  if (signedAt === undefined) {
    throw new S3Error('AuthorizationQueryParametersError', 'X-Amz-Date must be in the ISO8601 form yyyyMMddTHHmmssZ')
  }
  const expires = parameter('X-Amz-Expires')
  if (!/^\d{1,7}$/.test(expires) || Number(expires) > maxPresignedSeconds || Number(expires) < 1) {
    throw new S3Error('AuthorizationQueryParametersError', 'X-Amz-Expires must be between 1 and 604800 seconds')
  }
  checkCredential(claim, signer, 'AuthorizationQueryParametersError')
  if (signedAt > nowMs + maxSkewMs) throw new S3Error('AccessDenied', 'Request is not valid yet')
  if (nowMs > signedAt + Number(expires) * 1000) {
    throw new S3Error('AccessDenied', 'Request has expired', {
      'X-Amz-Expires': expires,
      ServerTime: new Date(nowMs).toISOString(),
    })
  }
  const carried: Record<string, string> = {}
  for (const [name, value] of request.query) {
    const lower = name.toLowerCase()
    if (lower.startsWith('x-amz-') && !presignedParameters.has(lower)) carried[lower] = value
  }
  const whole = { ...request, headers: { ...carried, ...request.headers } }
  const payloadHash = whole.headers['x-amz-content-sha256'] ?? 'UNSIGNED-PAYLOAD'
  return checkSignature(request, whole, claim, payloadHash, signer)
}

function checkCredential(
  claim: Claim,
  signer: Signer,
  malformed: 'AuthorizationHeaderMalformed' | 'AuthorizationQueryParametersError',
): void {
  const parts = claim.credential.split('/')
  const [accessKeyId = '', day = '', region = '', service = '', terminator = ''] = parts
  if (parts.length !== 5 || claim.signature === '') throw new S3Error(malformed)
  if (accessKeyId !== signer.credentials.accessKeyId) {
    throw new S3Error('InvalidAccessKeyId', undefined, { AWSAccessKeyId: accessKeyId })
  }
  if (region !== signer.region) {
    throw new S3Error(malformed, `The region '${region}' is wrong; expecting '${signer.region}'`, {
      Region: signer.region,
    })
  }
  if (service !== 's3' || terminator !== 'aws4_request') throw new S3Error(malformed)
  if (day !== claim.date.slice(0, 8)) throw new S3Error(malformed, `Invalid credential date "${day}"`)
}

async function checkSignature(
  received: S3Request,
  request: S3Request,
  claim: Claim,
  payloadHash: string,
  signer: Signer,
): Promise<Authorized> {
  const signed = new Set(claim.signedHeaders)
  const notSigned = Object.keys(received.headers).filter(
    (name) => (name.startsWith('x-amz-') || name === 'host') && !signed.has(name),
  )
  if (notSigned.length > 0) {
    throw new S3Error('AccessDenied', 'There were headers present in the request which were not signed', {
      HeadersNotSigned: notSigned.join(', '),
    })
  }
  // There is no session here that a token could belong to.
  if (request.headers['x-amz-security-token'] !== undefined || request.query.has('X-Amz-Security-Token')) {
    throw new S3Error('InvalidToken')
  }
  const expected = await signer.signRequest(received, {
    headers: claim.signedHeaders,
    date: claim.date,
    payloadHash,
  })
  if (!sameSignature(expected, claim.signature)) throw new S3Error('SignatureDoesNotMatch')
  return { request, payloadHash, chunkSigning: { signer, date: claim.date, seed: claim.signature } }
}

/** Milliseconds of `YYYYMMDDTHHMMSSZ`. */
export function parseDate(text: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, second] = match
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(time) ? undefined : time
}
