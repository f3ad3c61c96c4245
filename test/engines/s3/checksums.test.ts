import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  type ChecksumAlgorithm,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { check, describeS3, sendSigned, sha256 } from './engine.ts'

/** The published check values of each algorithm: those of the text 123456789. */
const checkText = '123456789'
const checkValues = {
  CRC32: 'cbf43926',
  CRC32C: 'e3069283',
  CRC64NVME: 'ae8b14860a799888',
  SHA1: 'f7c3bc1d808e04732adf679965ccc34ca7ae3441',
  SHA256: '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225',
}

describeS3('checksums', (engine) => {
  const put = (Key: string, Body: string | Buffer, rest: Partial<PutObjectCommandInput> = {}) =>
    engine().s3.send(new PutObjectCommand({ Bucket: engine().bucket, Key, Body, ...rest }))
  const head = (Key: string) =>
    engine().s3.send(new HeadObjectCommand({ Bucket: engine().bucket, Key, ChecksumMode: 'ENABLED' }))
  const absent = (Key: string) => expect(head(Key)).rejects.toMatchObject({ $metadata: { httpStatusCode: 404 } })
  const putRaw = (key: string, headers: Record<string, string>, body: string) =>
    sendSigned(engine(), { method: 'PUT', path: `/${engine().bucket}/${key}`, headers, body })

  for (const [algorithm, hex] of Object.entries(checkValues)) {
    const header = `x-amz-checksum-${algorithm.toLowerCase()}`
    const value = Buffer.from(hex, 'hex').toString('base64')

    check(`${algorithm}: a checksum is stored and told`, async () => {
      const key = `values/${algorithm}`
      const headers = { [header]: value, 'x-amz-sdk-checksum-algorithm': algorithm }
      expect((await putRaw(key, headers, checkText)).status).toBe(200)
      expect(await head(key)).toMatchObject({ [`Checksum${algorithm}`]: value })
    })

    check(`${algorithm}: a wrong checksum is refused`, async () => {
      const key = `wrong/${algorithm}`
      const answer = await putRaw(key, { [header]: value }, 'other text')
      expect(answer).toMatchObject({ status: 400, code: 'BadDigest' })
      await absent(key)
    })

    check(`${algorithm}: a value of another length is refused`, async () => {
      const answer = await putRaw('values/short', { [header]: 'AAA=' }, checkText)
      expect(answer).toMatchObject({ status: 400, code: 'InvalidRequest' })
    })
  }

  check('a checksum of an object put at once is that of the whole', async () => {
    await put('whole', 'x', { ChecksumAlgorithm: 'SHA256' })
    expect(await head('whole')).toMatchObject({ ChecksumSHA256: sha256('x'), ChecksumType: 'FULL_OBJECT' })
  })

  check('a replaced object stays when the new bytes do not match', async () => {
    await put('kept', 'first')
    const answer = await putRaw('kept', { 'x-amz-checksum-sha256': sha256('second') }, 'third')
    expect(answer.status).toBe(400)
    const got = await engine().s3.send(new GetObjectCommand({ Bucket: engine().bucket, Key: 'kept' }))
    expect(await got.Body?.transformToString()).toBe('first')
  })

  check('two checksums are refused', async () => {
    const headers = {
      'x-amz-checksum-sha256': sha256('x'),
      'x-amz-checksum-sha1': createHash('sha1').update('x').digest('base64'),
    }
    expect(await putRaw('two', headers, 'x')).toMatchObject({ status: 400, code: 'InvalidRequest' })
  })

  check('the SDK verifies what it reads', async () => {
    await put('verified', 'sha me', { ChecksumAlgorithm: 'SHA256' })
    const got = await engine().s3.send(
      new GetObjectCommand({ Bucket: engine().bucket, Key: 'verified', ChecksumMode: 'ENABLED' }),
    )
    expect(got.ChecksumSHA256).toBe(sha256('sha me'))
    expect(await got.Body?.transformToString()).toBe('sha me')
  })

  check('a range comes without the checksum of the whole', async () => {
    await put('ranged', '0123456789', { ChecksumAlgorithm: 'SHA256' })
    const got = await engine().s3.send(
      new GetObjectCommand({ Bucket: engine().bucket, Key: 'ranged', ChecksumMode: 'ENABLED', Range: 'bytes=0-3' }),
    )
    expect(got.ChecksumSHA256).toBeUndefined()
    expect(await got.Body?.transformToString()).toBe('0123')
  })

  check('a stream with its checksum behind it is stored without the framing', async () => {
    const bytes = Buffer.alloc(300_000, 'stream ')
    for (const algorithm of ['CRC32', 'SHA256', 'CRC64NVME'] satisfies ChecksumAlgorithm[]) {
      const key = `trailer/${algorithm}`
      const pieces = Array.from({ length: 30 }, (_, index) => bytes.subarray(index * 10_000, (index + 1) * 10_000))
      await engine().s3.send(
        new PutObjectCommand({
          Bucket: engine().bucket,
          Key: key,
          Body: Readable.from(pieces, { objectMode: false }),
          ContentLength: bytes.length,
          ChecksumAlgorithm: algorithm,
        }),
      )
      const told = await head(key)
      expect(told.ContentLength).toBe(bytes.length)
      expect(told.ContentEncoding ?? '').not.toContain('aws-chunked')
      expect(told[`Checksum${algorithm}`]).toMatch(/=$/)
      const got = await engine().s3.send(new GetObjectCommand({ Bucket: engine().bucket, Key: key }))
      expect(sha256(Buffer.from((await got.Body?.transformToByteArray()) ?? []))).toBe(sha256(bytes))
    }
  })

  check('a wrong Content-MD5 is refused, and so is one that is none', async () => {
    const md5 = createHash('md5').update('other').digest('base64')
    expect(await putRaw('md5', { 'content-md5': md5 }, 'x')).toMatchObject({ status: 400, code: 'BadDigest' })
    expect(await putRaw('md5', { 'content-md5': 'short' }, 'x')).toMatchObject({ status: 400, code: 'InvalidDigest' })
    await absent('md5')
    const right = createHash('md5').update('x').digest('base64')
    expect((await putRaw('md5', { 'content-md5': right }, 'x')).status).toBe(200)
  })
})
