import { spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetBucketLifecycleConfigurationCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type S3Server, startS3 } from '../../../local/s3/index.ts'
import { sha256 } from './engine.ts'

const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' }
const Bucket = 'kept'
let dir: string
let server: S3Server | undefined

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sandkeep-s3-'))
})

afterEach(async () => {
  await server?.stop()
  server = undefined
  await rm(dir, { recursive: true })
})

/** Starts the server of the folder, after stopping the one before. */
async function restart(): Promise<S3Client> {
  await server?.stop()
  server = await startS3({ dir, credentials, buckets: [Bucket] })
  return clientOf(server.endpoint)
}

function clientOf(endpoint: string): S3Client {
  return new S3Client({ endpoint, credentials, region: 'us-east-1', forcePathStyle: true, maxAttempts: 1 })
}

async function read(s3: S3Client, Key: string, VersionId?: string): Promise<Buffer> {
  const got = await s3.send(new GetObjectCommand({ Bucket, Key, VersionId, ChecksumMode: 'ENABLED' }))
  return Buffer.from((await got.Body?.transformToByteArray()) ?? [])
}

test('a second start finds objects, their description, and what is not finished', async () => {
  const first = await restart()
  const large = Buffer.alloc(700_000, 'large ')
  await first.send(new PutObjectCommand({ Bucket, Key: 'small', Body: 'x', Metadata: { a: 'é' }, Tagging: 'k=v' }))
  await first.send(new PutObjectCommand({ Bucket, Key: 'large', Body: 'old' }))
  await first.send(new PutObjectCommand({ Bucket, Key: 'large', Body: large }))
  await first.send(new PutObjectCommand({ Bucket, Key: 'deleted', Body: 'x' }))
  await first.send(new DeleteObjectCommand({ Bucket, Key: 'deleted' }))
  const Rules = [{ ID: 'r', Status: 'Enabled', Filter: { Prefix: 'tmp/' }, Expiration: { Days: 1 } } as const]
  await first.send(new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: { Rules } }))
  const { UploadId } = await first.send(new CreateMultipartUploadCommand({ Bucket, Key: 'parts' }))
  const part = { Bucket, Key: 'parts', UploadId, PartNumber: 1 }
  const { ETag } = await first.send(new UploadPartCommand({ ...part, Body: 'part' }))

  const second = await restart()
  const listed = await second.send(new ListObjectsV2Command({ Bucket }))
  expect(listed.Contents?.map((entry) => [entry.Key, entry.Size])).toEqual([
    ['large', large.length],
    ['small', 1],
  ])
  const got = await second.send(new GetObjectCommand({ Bucket, Key: 'small' }))
  expect(got).toMatchObject({ TagCount: 1, ContentType: 'application/octet-stream' })
  expect(sha256(await read(second, 'large'))).toBe(sha256(large))
  expect((await second.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).Rules).toMatchObject(Rules)
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
  await second.send(new CompleteMultipartUploadCommand({ Bucket, Key: 'parts', UploadId, MultipartUpload }))

  const third = await restart()
  expect((await read(third, 'parts')).toString()).toBe('part')
  expect((await third.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? []).toEqual([])
})

test('versions keep their order', async () => {
  const first = await restart()
  await first.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  const ids: Array<string | undefined> = []
  for (const Body of ['1', '2', '3']) {
    ids.push((await first.send(new PutObjectCommand({ Bucket, Key: 'k', Body }))).VersionId)
  }
  const second = await restart()
  ids.push((await second.send(new PutObjectCommand({ Bucket, Key: 'k', Body: '4' }))).VersionId)
  const { Versions } = await (await restart()).send(new ListObjectVersionsCommand({ Bucket }))
  expect(Versions?.map((version) => version.VersionId)).toEqual(ids.toReversed())
})

test('nothing that is replaced, deleted or left by a kill stays in the folder', async () => {
  const s3 = await restart()
  for (const Body of ['1', '2'.repeat(200_000), '3']) await s3.send(new PutObjectCommand({ Bucket, Key: 'a', Body }))
  await s3.send(new PutObjectCommand({ Bucket, Key: 'b', Body: 'x' }))
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'b' }))
  expect(await readdir(join(dir, 'data'))).toHaveLength(1)
  expect(await readdir(join(dir, 'object'))).toHaveLength(1)
  await writeFile(join(dir, 'data', 'unfinished'), 'half a')
  await writeFile(join(dir, 'object', 'record.json.0.tmp'), '{"half')
  const again = await restart()
  expect(await readdir(join(dir, 'data'))).toHaveLength(1)
  expect(await readdir(join(dir, 'object'))).toHaveLength(1)
  expect((await read(again, 'a')).toString()).toBe('3')
})

/** Begins an upload of 9 MB; returns when its first bytes are in the folder. */
async function beginUpload(s3: S3Client): Promise<Socket> {
  const url = new URL(await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: 'k', ChecksumCRC32: 'AAAAAA==' })))
  const socket = connect(Number(url.port), url.hostname)
  const head = `PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: 9000000\r\n\r\n`
  socket.write(head + 'x'.repeat(500_000))
  await vi.waitFor(async () => expect(await readdir(join(dir, 'data'))).toHaveLength(1))
  return socket
}

test('an upload that the client breaks off leaves no file', async () => {
  const s3 = await restart()
  const socket = await beginUpload(s3)
  socket.destroy()
  await vi.waitFor(async () => expect(await readdir(join(dir, 'data'))).toHaveLength(0))
  expect((await s3.send(new ListObjectsV2Command({ Bucket }))).KeyCount).toBe(0)
})

test('a stop breaks uploads off and waits until they are cleared away', async () => {
  const socket = await beginUpload(await restart())
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined)
  socket.resume()
  await server?.stop()
  server = undefined
  expect(await readdir(join(dir, 'data'))).toHaveLength(0)
  await closed
})

test('a folder has one server', async () => {
  await restart()
  await expect(startS3({ dir, credentials })).rejects.toThrow(/served by process/)
})

test('after a kill each object is the old one or a whole new one', async () => {
  const keys = ['small', 'large', 'other']
  // The bytes of each write start with its number, and fill the object with it.
  const bodyOf = (key: string, round: number) => Buffer.alloc(key === 'large' ? 400_000 : 100, `${key} ${round} `)
  let lowest: Record<string, number> = {}
  for (let kill = 0; kill < 3; kill++) {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'killed-server.ts'), dir, Bucket], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const endpoint = await new Promise<string>((resolve, reject) => {
      child.once('error', reject)
      child.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()))
    })
    const s3 = clientOf(endpoint)
    const exited = new Promise((resolve) => child.once('exit', resolve))
    const acknowledged = { ...lowest }
    let answers = 0
    const write = async (key: string) => {
      for (let round = (lowest[key] ?? 0) + 1; ; round++) {
        await s3.send(new PutObjectCommand({ Bucket, Key: key, Body: bodyOf(key, round) }))
        acknowledged[key] = round
        // Killed while the other writers are in the middle of theirs.
        if (++answers === 20 + kill * 7) child.kill('SIGKILL')
      }
    }
    const outcomes = await Promise.allSettled(keys.map(write))
    expect(outcomes.every((outcome) => outcome.status === 'rejected')).toBe(true)
    await exited
    const after = await restart()
    const found: Record<string, number> = {}
    for (const key of keys) {
      const bytes = await read(after, key)
      const round = Number(bytes.toString('latin1', 0, 40).split(' ')[1])
      expect(bytes.equals(bodyOf(key, round))).toBe(true)
      const known = acknowledged[key] ?? 0
      expect(round === known || round === known + 1).toBe(true)
      found[key] = round
    }
    expect(await readdir(join(dir, 'data'))).toHaveLength(keys.length)
    lowest = found
    await server?.stop()
    server = undefined
  }
})
