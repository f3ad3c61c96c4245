import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Sha256 } from '@aws-crypto/sha256-js'
import { CreateBucketCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { HttpRequest } from '@smithy/protocol-http'
import { SignatureV4 } from '@smithy/signature-v4'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { startS3 } from '../../../local/s3/index.ts'
import { motoCannot } from './moto-cannot.ts'

const externalEndpoint = process.env.SANDKEEP_S3_ENDPOINT

/** Where requests go, and who signs them. */
export interface Target {
  endpoint: string
  credentials: { accessKeyId: string; secretAccessKey: string }
  region: string
}

/** An S3 that the tests talk to: the embedded one, or the one that the environment names. */
export interface Engine extends Target {
  /** A bucket of this suite's own. */
  bucket: string
  /** Sends no checksum unasked, and tries once. */
  s3: S3Client
  client(options?: S3ClientConfig): S3Client
}

async function openEngine(storage: string): Promise<{ engine: Engine; close(): Promise<void> }> {
  const credentials = {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? 'test-key',
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? 'test-secret',
  }
  const region = 'us-east-1'
  const dir = storage === 'folder' ? await mkdtemp(join(tmpdir(), 'sandkeep-s3-')) : undefined
  const server =
    externalEndpoint === undefined ? await startS3({ credentials, region, ...(dir && { dir }) }) : undefined
  const endpoint = server?.endpoint ?? externalEndpoint ?? ''
  const client = (options: S3ClientConfig = {}) =>
    new S3Client({
      endpoint,
      region,
      credentials,
      forcePathStyle: true,
      maxAttempts: 1,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      ...options,
    })
  const s3 = client()
  const bucket = `suite-${randomUUID()}`
  await s3.send(new CreateBucketCommand({ Bucket: bucket }))
  const close = async () => {
    s3.destroy()
    await server?.stop()
    if (dir !== undefined) await rm(dir, { recursive: true })
  }
  return { engine: { endpoint, credentials, region, bucket, s3, client }, close }
}

/** A test of the suite; not made for an engine that is known not to do this. */
export function check(name: string, body: () => Promise<void>): void {
  if (process.env.SANDKEEP_ENGINE === 'moto' && motoCannot.has(name)) return
  test(name, body)
}

/** Runs a suite against each storage of the embedded engine, or against the external one. */
export function describeS3(name: string, suite: (engine: () => Engine) => void): void {
  const storages = externalEndpoint === undefined ? ['memory', 'folder'] : ['external']
  describe.each(storages)(`${name} (%s)`, (storage) => {
    let opened: Awaited<ReturnType<typeof openEngine>> | undefined
    beforeAll(async () => {
      opened = await openEngine(storage)
    })
    afterAll(() => opened?.close())
    suite(() => {
      if (!opened) throw new Error('The engine is not open yet')
      return opened.engine
    })
  })
}

export interface RawRequest {
  method: string
  /** Unencoded, with the bucket: `/bucket/key`. */
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer | string
}

export interface RawAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  /** The code of an error document; empty elsewhere. */
  code: string
}

export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

/** The headers of a request, signed. The hash of the payload is `x-amz-content-sha256` where given. */
export async function signHeaders(
  engine: Target,
  request: RawRequest,
  options: { date?: Date; accessKeyId?: string; region?: string } = {},
): Promise<Record<string, string>> {
  const url = new URL(engine.endpoint)
  const signer = new SignatureV4({
    service: 's3',
    region: options.region ?? engine.region,
    credentials: { ...engine.credentials, ...(options.accessKeyId && { accessKeyId: options.accessKeyId }) },
    sha256: Sha256,
    uriEscapePath: false,
  })
  const body = request.body ?? ''
  const signed = await signer.sign(
    new HttpRequest({
      method: request.method,
      hostname: url.hostname,
      port: Number(url.port),
      path: encodePath(request.path),
      query: request.query ?? {},
      headers: {
        host: url.host,
        'x-amz-content-sha256': createHash('sha256').update(body).digest('hex'),
        ...request.headers,
      },
      body,
    }),
    { signingDate: options.date ?? new Date() },
  )
  return signed.headers
}

/** Sends a request as it is; the length of the body is stated unless the headers say otherwise. */
export function send(engine: Target, request: RawRequest): Promise<RawAnswer> {
  const query = new URLSearchParams(request.query).toString().replaceAll('+', '%20')
  const body = request.body ?? ''
  const headers: Record<string, string> = { ...request.headers }
  const framed = 'transfer-encoding' in headers || 'content-length' in headers
  if (!framed) headers['content-length'] = String(Buffer.byteLength(body))
  return sendTo(`${engine.endpoint}${encodePath(request.path)}${query === '' ? '' : `?${query}`}`, {
    method: request.method,
    headers,
    body,
  })
}

/** Signs and sends a request. */
export async function sendSigned(
  engine: Target,
  request: RawRequest,
  options: Parameters<typeof signHeaders>[2] = {},
): Promise<RawAnswer> {
  return send(engine, { ...request, headers: await signHeaders(engine, request, options) })
}

/** Sends to an address, such as a presigned one. */
export function sendTo(
  url: string,
  request: { method: string; headers?: Record<string, string>; body?: Buffer | string },
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method: request.method, headers: request.headers }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const body = Buffer.concat(chunks)
        const code = /<Code>([^<]*)<\/Code>/.exec(body.toString('utf8'))?.[1] ?? ''
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body, code })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(request.body ?? '')
  })
}

export function sha256(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('base64')
}
