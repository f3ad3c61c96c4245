import { connect } from 'node:net'
import {
  GetObjectCommand,
  type GetObjectCommandInput,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { expect, test } from 'vitest'
import { startS3 } from '../../../local/s3/index.ts'
import { check, describeS3, sendSigned, sendTo, sha256 } from './engine.ts'

type SignOptions = NonNullable<Parameters<typeof getSignedUrl>[2]>

describeS3('presigned requests', (engine) => {
  const signPut = (Key: string, rest: Partial<PutObjectCommandInput> = {}, options: SignOptions = {}) =>
    getSignedUrl(engine().s3, new PutObjectCommand({ Bucket: engine().bucket, Key, ...rest }), options)
  const signGet = (Key: string, rest: Partial<GetObjectCommandInput> = {}, options: SignOptions = {}) =>
    getSignedUrl(engine().s3, new GetObjectCommand({ Bucket: engine().bucket, Key, ...rest }), options)
  const put = (Key: string, Body: string) =>
    engine().s3.send(new PutObjectCommand({ Bucket: engine().bucket, Key, Body }))
  const missing = (Key: string) =>
    expect(engine().s3.send(new HeadObjectCommand({ Bucket: engine().bucket, Key }))).rejects.toMatchObject({
      $metadata: { httpStatusCode: 404 },
    })

  check('a put and a get need no credentials', async () => {
    const url = await signPut('one x+é', { ContentType: 'text/plain' })
    const headers = { 'content-type': 'text/plain' }
    expect((await sendTo(url, { method: 'PUT', headers, body: 'presigned' })).status).toBe(200)
    const got = await sendTo(await signGet('one x+é'), { method: 'GET' })
    expect(got).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain' } })
    expect(got.body.toString()).toBe('presigned')
  })

  check('an empty put is stored', async () => {
    expect((await sendTo(await signPut('empty'), { method: 'PUT' })).status).toBe(200)
    const got = await sendTo(await signGet('empty'), { method: 'GET' })
    expect(got).toMatchObject({ status: 200, headers: { 'content-length': '0' } })
  })

  check('a get gives a range', async () => {
    await put('range', '0123456789')
    const got = await sendTo(await signGet('range'), { method: 'GET', headers: { range: 'bytes=2-4' } })
    expect(got).toMatchObject({ status: 206, headers: { 'content-range': 'bytes 2-4/10' } })
    expect(got.body.toString()).toBe('234')
  })

  check('it is good for its method and key only', async () => {
    await put('only', 'x')
    const url = await signGet('only')
    expect(await sendTo(url, { method: 'PUT', body: 'evil' })).toMatchObject({ status: 403 })
    expect(await sendTo(url, { method: 'DELETE' })).toMatchObject({ status: 403 })
    expect(await sendTo(url.replace('/only?', '/other?'), { method: 'GET' })).toMatchObject({ status: 403 })
    expect((await sendTo(url, { method: 'GET' })).body.toString()).toBe('x')
  })

  check('a changed parameter is refused', async () => {
    await put('tampered', 'x')
    const changes: Array<[string, string]> = [
      ['X-Amz-Signature', '0'.repeat(64)],
      ['X-Amz-Expires', '604800'],
      ['response-content-type', 'text/html'],
    ]
    for (const [name, value] of changes) {
      const url = new URL(await signGet('tampered'))
      url.searchParams.set(name, value)
      expect(await sendTo(url.href, { method: 'GET' })).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
    }
  })

  check('an unknown key id is refused', async () => {
    const url = (await signGet('k')).replace(`Credential=${engine().credentials.accessKeyId}`, 'Credential=nobody')
    expect(await sendTo(url, { method: 'GET' })).toMatchObject({ status: 403, code: 'InvalidAccessKeyId' })
  })

  check('it expires', async () => {
    await put('expired', 'x')
    const url = await signGet('expired', {}, { expiresIn: 60, signingDate: new Date(Date.now() - 3600_000) })
    expect(await sendTo(url, { method: 'GET' })).toMatchObject({ status: 403, code: 'AccessDenied' })
  })

  check('it is not good before its time', async () => {
    await put('early', 'x')
    const url = await signGet('early', {}, { signingDate: new Date(Date.now() + 3600_000) })
    expect(await sendTo(url, { method: 'GET' })).toMatchObject({ status: 403, code: 'AccessDenied' })
  })

  check('a life of more than a week, or of none, is refused', async () => {
    for (const expires of ['604801', '0', '-1', 'x']) {
      const url = new URL(await signGet('k'))
      url.searchParams.set('X-Amz-Expires', expires)
      expect(await sendTo(url.href, { method: 'GET' })).toMatchObject({
        status: 400,
        code: 'AuthorizationQueryParametersError',
      })
    }
  })

  check('a part of the signature that is missing is refused', async () => {
    for (const name of ['X-Amz-Signature', 'X-Amz-Date', 'X-Amz-SignedHeaders', 'X-Amz-Credential']) {
      const url = new URL(await signGet('k'))
      url.searchParams.delete(name)
      expect(await sendTo(url.href, { method: 'GET' })).toMatchObject({
        status: 400,
        code: 'AuthorizationQueryParametersError',
      })
    }
  })

  check('a second way to sign beside it is refused', async () => {
    const headers = { authorization: 'AWS4-HMAC-SHA256 Credential=a' }
    const answer = await sendTo(await signGet('k'), { method: 'GET', headers })
    expect(answer).toMatchObject({ status: 400, code: 'InvalidArgument' })
  })

  check('an x-amz header that is not signed is refused', async () => {
    const headers = { 'x-amz-meta-added': '1' }
    const answer = await sendTo(await signPut('added'), { method: 'PUT', headers, body: 'x' })
    expect(answer).toMatchObject({ status: 403, code: 'AccessDenied' })
    await missing('added')
  })

  check('a signed checksum header holds for the body', async () => {
    const checksum = sha256('good')
    const url = await signPut(
      'checksum',
      { ChecksumSHA256: checksum },
      { unhoistableHeaders: new Set(['x-amz-checksum-sha256']) },
    )
    const headers = { 'x-amz-checksum-sha256': checksum }
    expect(await sendTo(url, { method: 'PUT', headers, body: 'evil' })).toMatchObject({
      status: 400,
      code: 'BadDigest',
    })
    await missing('checksum')
    const other = { 'x-amz-checksum-sha256': sha256('evil') }
    expect(await sendTo(url, { method: 'PUT', headers: other, body: 'evil' })).toMatchObject({ status: 403 })
    expect(await sendTo(url, { method: 'PUT', body: 'evil' })).toMatchObject({ status: 403 })
    await missing('checksum')
    expect(await sendTo(url, { method: 'PUT', headers, body: 'good' })).toMatchObject({
      status: 200,
      headers: { 'x-amz-checksum-sha256': checksum },
    })
  })

  check('a checksum in the query holds for the body', async () => {
    const url = await signPut('hoisted', { ChecksumSHA256: sha256('good') })
    expect(new URL(url).searchParams.has('x-amz-checksum-sha256')).toBe(true)
    expect(await sendTo(url, { method: 'PUT', body: 'evil' })).toMatchObject({ status: 400, code: 'BadDigest' })
    await missing('hoisted')
    expect((await sendTo(url, { method: 'PUT', body: 'good' })).status).toBe(200)
  })

  check('metadata in the query is stored', async () => {
    const url = await signPut('metadata', { Metadata: { turn: '7' } })
    expect((await sendTo(url, { method: 'PUT', body: 'x' })).status).toBe(200)
    const told = await engine().s3.send(new HeadObjectCommand({ Bucket: engine().bucket, Key: 'metadata' }))
    expect(told.Metadata).toEqual({ turn: '7' })
  })

  check('a signed If-None-Match lets one put through', async () => {
    const url = await signPut('once', { IfNoneMatch: '*' }, { signableHeaders: new Set(['host', 'if-none-match']) })
    const headers = { 'if-none-match': '*' }
    expect((await sendTo(url, { method: 'PUT', headers, body: 'first' })).status).toBe(200)
    expect(await sendTo(url, { method: 'PUT', headers, body: 'second' })).toMatchObject({
      status: 412,
      code: 'PreconditionFailed',
    })
    expect(await sendTo(url, { method: 'PUT', body: 'second' })).toMatchObject({ status: 403 })
  })

  check('a signed length lets no other through', async () => {
    const signableHeaders = new Set(['host', 'content-length'])
    const url = await signPut('length', { ContentLength: 4 }, { signableHeaders })
    for (const body of ['', 'one', 'fiver']) {
      expect(await sendTo(url, { method: 'PUT', body })).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
    }
    await missing('length')
    expect((await sendTo(url, { method: 'PUT', body: 'four' })).status).toBe(200)
  })

  check('fewer bytes than the signed length store nothing', async () => {
    const signableHeaders = new Set(['host', 'content-length'])
    const url = new URL(await signPut('cut-off', { ContentLength: 1000 }, { signableHeaders }))
    const socket = connect(Number(url.port), url.hostname)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(
      `PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: 1000\r\n\r\nonly this`,
    )
    socket.end()
    socket.resume()
    await closed
    await missing('cut-off')
  })

  check('a signed type lets no other through', async () => {
    const url = await signPut(
      'type',
      { ContentType: 'text/plain' },
      { signableHeaders: new Set(['host', 'content-type']) },
    )
    const html = { 'content-type': 'text/html' }
    expect(await sendTo(url, { method: 'PUT', headers: html, body: 'x' })).toMatchObject({ status: 403 })
    await missing('type')
  })

  check('a get can be told which headers to answer', async () => {
    await put('overridden', 'x')
    const disposition = `attachment; filename="report.pdf"; filename*=UTF-8''%E5%A0%B1%E5%91%8A.pdf`
    const url = await signGet('overridden', {
      ResponseContentDisposition: disposition,
      ResponseContentType: 'text/x-y',
      ResponseCacheControl: 'no-store',
    })
    expect(await sendTo(url, { method: 'GET' })).toMatchObject({
      status: 200,
      headers: { 'content-disposition': disposition, 'content-type': 'text/x-y', 'cache-control': 'no-store' },
    })
  })

  check('a header beyond Latin-1, or with a line end, is refused', async () => {
    await put('unfit', 'x')
    for (const name of ['報告.pdf', 'D’Arcy.jpg', 'a\r\nset-cookie: x']) {
      const url = await signGet('unfit', { ResponseContentDisposition: `attachment; filename="${name}"` })
      expect(await sendTo(url, { method: 'GET' })).toMatchObject({ status: 400, code: 'InvalidArgument' })
    }
  })

  check('a presigned head tells of the object', async () => {
    await put('head', 'four')
    const url = await getSignedUrl(engine().s3, new HeadObjectCommand({ Bucket: engine().bucket, Key: 'head' }))
    expect(await sendTo(url, { method: 'HEAD' })).toMatchObject({ status: 200, headers: { 'content-length': '4' } })
    const signed = await sendSigned(engine(), { method: 'HEAD', path: `/${engine().bucket}/head` })
    expect(signed.headers.etag).toBe('"8cbad96aced40b3838dd9f07f6ef5772"')
  })
})

test('a presigned request lives exactly as long as it says', async () => {
  let now = Date.UTC(2030, 0, 1)
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' }
  const server = await startS3({ credentials, now: () => now, buckets: ['clock'] })
  try {
    const { S3Client } = await import('@aws-sdk/client-s3')
    const s3 = new S3Client({
      endpoint: server.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials,
      requestChecksumCalculation: 'WHEN_REQUIRED',
    })
    const command = new PutObjectCommand({ Bucket: 'clock', Key: 'k' })
    const url = await getSignedUrl(s3, command, { expiresIn: 60, signingDate: new Date(now) })
    now += 60_000
    expect((await sendTo(url, { method: 'PUT', body: 'x' })).status).toBe(200)
    now += 1
    expect(await sendTo(url, { method: 'PUT', body: 'x' })).toMatchObject({ status: 403, code: 'AccessDenied' })
  } finally {
    await server.stop()
  }
})
