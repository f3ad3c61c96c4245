import { createHash } from 'node:crypto'
import {
  DeleteObjectCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { check, describeS3, send, sendSigned, signHeaders } from './engine.ts'

describeS3('objects', (engine) => {
  const put = (Key: string, Body: string | Buffer, rest: Partial<PutObjectCommandInput> = {}) =>
    engine().s3.send(new PutObjectCommand({ Bucket: engine().bucket, Key, Body, ...rest }))
  const get = (Key: string, rest = {}) =>
    engine().s3.send(new GetObjectCommand({ Bucket: engine().bucket, Key, ...rest }))
  const head = (Key: string, rest = {}) =>
    engine().s3.send(new HeadObjectCommand({ Bucket: engine().bucket, Key, ...rest }))
  const read = async (Key: string, rest = {}) => (await get(Key, rest)).Body?.transformToString()
  const rejects = (promise: Promise<unknown>, status: number, name?: string) =>
    expect(promise).rejects.toMatchObject({ $metadata: { httpStatusCode: status }, ...(name && { name }) })

  check('an object comes back byte for byte, with the MD5 as its ETag in quotes', async () => {
    const bytes = Buffer.from(Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256))
    const { ETag } = await put('bytes', bytes)
    expect(ETag).toBe(`"${createHash('md5').update(bytes).digest('hex')}"`)
    const got = await get('bytes')
    expect(got).toMatchObject({ ETag, ContentLength: bytes.length, AcceptRanges: 'bytes' })
    expect(bytes.equals(Buffer.from((await got.Body?.transformToByteArray()) ?? []))).toBe(true)
  })

  check('a second put replaces the object and all that it said', async () => {
    await put('again', 'first, which is longer', { Metadata: { a: '1' }, ContentType: 'text/a' })
    await put('again', 'second')
    expect(await read('again')).toBe('second')
    const told = await head('again')
    expect(told.Metadata).toEqual({})
    expect(told.ContentType).not.toBe('text/a')
    expect(told.ContentLength).toBe(6)
  })

  check('an empty object is stored and read', async () => {
    await put('empty', '')
    expect((await head('empty')).ContentLength).toBe(0)
    expect(await read('empty')).toBe('')
  })

  check('content headers and metadata come back', async () => {
    await put('described', 'x', {
      ContentType: 'application/x-tar',
      CacheControl: 'no-store',
      ContentDisposition: 'attachment; filename="a b.txt"',
      ContentEncoding: 'gzip',
      ContentLanguage: 'de',
      Metadata: { 'sandbox-id': 'sb_1', turn: '42' },
    })
    expect(await head('described')).toMatchObject({
      ContentType: 'application/x-tar',
      CacheControl: 'no-store',
      ContentDisposition: 'attachment; filename="a b.txt"',
      ContentEncoding: 'gzip',
      ContentLanguage: 'de',
      Metadata: { 'sandbox-id': 'sb_1', turn: '42' },
    })
  })

  check('metadata over 2 KB is refused', async () => {
    await rejects(put('meta/large', 'x', { Metadata: { a: 'x'.repeat(2048) } }), 400, 'MetadataTooLarge')
    await rejects(head('meta/large'), 404)
  })

  check('what is missing answers NoSuchKey, to a head just 404', async () => {
    await rejects(get('missing'), 404, 'NoSuchKey')
    await rejects(head('missing'), 404, 'NotFound')
  })

  check('a missing bucket answers NoSuchBucket', async () => {
    const command = new GetObjectCommand({ Bucket: 'sandkeep-no-such-bucket', Key: 'k' })
    await rejects(engine().s3.send(command), 404, 'NoSuchBucket')
  })

  check('a deleted object is gone; deleting what is missing succeeds', async () => {
    await put('gone', 'x')
    for (let round = 0; round < 2; round++) {
      const answer = await engine().s3.send(new DeleteObjectCommand({ Bucket: engine().bucket, Key: 'gone' }))
      expect(answer.$metadata.httpStatusCode).toBe(204)
    }
    await rejects(get('gone'), 404, 'NoSuchKey')
  })

  check('ranges give the bytes they name', async () => {
    await put('digits', '0123456789')
    const ranges: Array<[string, string, string]> = [
      ['bytes=2-5', '2345', 'bytes 2-5/10'],
      ['bytes=7-', '789', 'bytes 7-9/10'],
      ['bytes=-3', '789', 'bytes 7-9/10'],
      ['bytes=8-99', '89', 'bytes 8-9/10'],
      ['bytes=-99', '0123456789', 'bytes 0-9/10'],
      ['bytes=0-0', '0', 'bytes 0-0/10'],
    ]
    for (const [Range, text, ContentRange] of ranges) {
      const got = await get('digits', { Range })
      expect(got).toMatchObject({ ContentRange, ContentLength: text.length, $metadata: { httpStatusCode: 206 } })
      expect(await got.Body?.transformToString()).toBe(text)
    }
  })

  check('a range outside the object is refused', async () => {
    await put('short', '0123456789')
    await rejects(get('short', { Range: 'bytes=10-12' }), 416, 'InvalidRange')
    await put('nothing', '')
    await rejects(get('nothing', { Range: 'bytes=0-0' }), 416, 'InvalidRange')
  })

  check('a suffix range of no bytes is refused', async () => {
    await put('short', '0123456789')
    await rejects(get('short', { Range: 'bytes=-0' }), 416, 'InvalidRange')
  })

  check('what is no range is ignored', async () => {
    await put('unranged', '0123456789')
    for (const Range of ['bytes=5-2', 'lines=1-2', 'bytes=x'])
      expect(await read('unranged', { Range })).toBe('0123456789')
  })

  check('a head with a range tells of the range', async () => {
    await put('head-range', '0123456789')
    expect(await head('head-range', { Range: 'bytes=1-3' })).toMatchObject({ ContentLength: 3 })
  })

  check('reads can be conditional on the ETag, a range too', async () => {
    const { ETag } = await put('conditional', '0123456789')
    const other = '"00000000000000000000000000000000"'
    await rejects(get('conditional', { IfNoneMatch: ETag }), 304)
    await rejects(get('conditional', { IfNoneMatch: ETag, Range: 'bytes=0-1' }), 304)
    await rejects(get('conditional', { IfMatch: other, Range: 'bytes=0-1' }), 412)
    await rejects(head('conditional', { IfMatch: other }), 412)
    expect(await read('conditional', { IfMatch: ETag, Range: 'bytes=0-1' })).toBe('01')
    expect(await read('conditional', { IfNoneMatch: other })).toBe('0123456789')
  })

  check('reads can be conditional on the time', async () => {
    await put('timed', 'x')
    const { LastModified } = await head('timed')
    const before = new Date((LastModified?.getTime() ?? 0) - 60_000)
    expect(await read('timed', { IfModifiedSince: before })).toBe('x')
    await rejects(get('timed', { IfModifiedSince: LastModified }), 304)
    expect(await read('timed', { IfUnmodifiedSince: LastModified })).toBe('x')
    await rejects(get('timed', { IfUnmodifiedSince: before }), 412)
  })

  check('any key works: Unicode, escapes, XML, slashes, dots', async () => {
    const keys = [
      'k/é/日本 語.txt',
      'k/a+b c%20d&e',
      `k/q'"<>`,
      'k/h#x?y=1',
      'k/a=b;c,d:e@f$g!h(i)*~',
      'k/%2F%00',
      'k/emoji😀',
      'k/tree',
      'k/tree/child',
      'k/folder/',
      'k//double',
      `k/${'x'.repeat(400)}/${'y'.repeat(500)}`,
    ]
    for (const key of keys) await put(key, key)
    for (const key of keys) expect(await read(key)).toBe(key)
  })

  check('dots in a key are no folders', async () => {
    await put('dot/../b', 'dots')
    expect(await read('dot/../b')).toBe('dots')
    await rejects(head('b'), 404)
  })

  check('a key may have 1,024 bytes and no more', async () => {
    await put(`é${'x'.repeat(1022)}`, 'fits')
    await rejects(put(`é${'x'.repeat(1023)}`, 'x'), 400, 'KeyTooLongError')
  })

  check('a put without a length is refused', async () => {
    const request = {
      method: 'PUT',
      path: `/${engine().bucket}/no-length`,
      headers: { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' },
    }
    const headers = { ...(await signHeaders(engine(), request)), 'transfer-encoding': 'chunked' }
    expect(await send(engine(), { ...request, headers, body: 'body' })).toMatchObject({
      status: 411,
      code: 'MissingContentLength',
    })
    await rejects(head('no-length'), 404)
  })

  check('a put that states more than 5 GiB is refused before its body', async () => {
    const request = {
      method: 'PUT',
      path: `/${engine().bucket}/huge`,
      headers: {
        'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
        'content-length': String(5 * 1024 ** 3 + 1),
        expect: '100-continue',
      },
    }
    const headers = await signHeaders(engine(), request)
    const answer = await send(engine(), { ...request, headers })
    expect(answer).toMatchObject({ status: 400, code: 'EntityTooLarge' })
  })

  check('headers that S3 does not know the value of are refused', async () => {
    const refused: Array<[Record<string, string>, number, string]> = [
      [{ 'x-amz-storage-class': 'CHEAP' }, 400, 'InvalidStorageClass'],
      [{ 'x-amz-server-side-encryption': 'ROT13' }, 400, 'InvalidArgument'],
      [{ 'x-amz-acl': 'public-read' }, 400, 'AccessControlListNotSupported'],
      [{ 'x-amz-tagging': 'a=1&a=2' }, 400, 'InvalidTag'],
    ]
    for (const [headers, status, code] of refused) {
      const request = { method: 'PUT', path: `/${engine().bucket}/refused`, headers, body: 'x' }
      expect(await sendSigned(engine(), request)).toMatchObject({ status, code })
    }
    await rejects(head('refused'), 404)
  })

  check('storage class and encryption come back', async () => {
    await put('stored', 'x', { StorageClass: 'STANDARD_IA', ServerSideEncryption: 'AES256' })
    expect(await head('stored')).toMatchObject({ StorageClass: 'STANDARD_IA', ServerSideEncryption: 'AES256' })
  })

  check('attributes tell the size, the checksum and the ETag', async () => {
    const { ETag } = await put('attributes', 'sha me', { ChecksumAlgorithm: 'SHA256' })
    const attributes = await engine().s3.send(
      new GetObjectAttributesCommand({
        Bucket: engine().bucket,
        Key: 'attributes',
        ObjectAttributes: ['ObjectSize', 'Checksum', 'ETag', 'StorageClass'],
      }),
    )
    expect(attributes).toMatchObject({
      ObjectSize: 6,
      ETag: ETag?.replaceAll('"', ''),
      Checksum: { ChecksumSHA256: createHash('sha256').update('sha me').digest('base64') },
      StorageClass: 'STANDARD',
    })
  })

  check('a method that an object has not is refused', async () => {
    const answer = await sendSigned(engine(), { method: 'PATCH', path: `/${engine().bucket}/k` })
    expect(answer).toMatchObject({ status: 405, code: 'MethodNotAllowed' })
  })

  check('errors are documents with a request id', async () => {
    const answer = await sendSigned(engine(), { method: 'GET', path: `/${engine().bucket}/absent` })
    expect(answer.status).toBe(404)
    expect(answer.headers['content-type']).toMatch(/^(application|text)\/xml/)
    const id = answer.headers['x-amz-request-id']
    expect(id).toMatch(/\S/)
    expect(answer.body.toString()).toContain(`<RequestId>${id}</RequestId>`)
    expect(answer.body.toString()).toContain('<Code>NoSuchKey</Code>')
  })
})
