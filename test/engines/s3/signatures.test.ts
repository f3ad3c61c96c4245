import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { startS3 } from '../../../local/s3/index.ts'
import { check, describeS3, type RawRequest, send, sendSigned, signHeaders } from './engine.ts'

describeS3('signatures', (engine) => {
  const putRequest = (key: string, headers: Record<string, string> = {}, body = 'body'): RawRequest => ({
    method: 'PUT',
    path: `/${engine().bucket}/${key}`,
    headers,
    body,
  })
  const missing = async (key: string) => {
    const answer = await sendSigned(engine(), { method: 'GET', path: `/${engine().bucket}/${key}` })
    expect(answer).toMatchObject({ status: 404, code: 'NoSuchKey' })
  }

  check('an unsigned request is denied', async () => {
    expect(await send(engine(), putRequest('unsigned'))).toMatchObject({ status: 403, code: 'AccessDenied' })
    await missing('unsigned')
  })

  check('an unknown key id is refused', async () => {
    const answer = await sendSigned(engine(), putRequest('unknown'), { accessKeyId: 'nobody' })
    expect(answer).toMatchObject({ status: 403, code: 'InvalidAccessKeyId' })
  })

  check('a signature by another secret is refused', async () => {
    const other = { ...engine(), credentials: { ...engine().credentials, secretAccessKey: 'wrong' } }
    expect(await sendSigned(other, putRequest('secret'))).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
    await missing('secret')
  })

  check('another method, key, query or header than the signed one is refused', async () => {
    const request = putRequest('signed', { 'content-type': 'text/plain', 'x-amz-meta-a': '1' })
    const headers = await signHeaders(engine(), request)
    const changes: Partial<RawRequest>[] = [
      { method: 'DELETE' },
      { path: `/${engine().bucket}/other` },
      { query: { tagging: '' } },
      { headers: { ...headers, 'content-type': 'text/html' } },
      { headers: { ...headers, 'x-amz-meta-a': '2' } },
      { headers: { ...headers, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' } },
    ]
    for (const change of changes) {
      const answer = await send(engine(), { ...request, headers, ...change })
      expect(answer).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
    }
    await missing('signed')
    await missing('other')
  })

  check('a signed header that is left out is refused', async () => {
    const request = putRequest('left-out', { 'if-none-match': '*' })
    const { 'if-none-match': _, ...headers } = await signHeaders(engine(), request)
    const answer = await send(engine(), { ...request, headers })
    expect(answer).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
  })

  check('an x-amz header that is not signed is refused', async () => {
    const request = putRequest('added')
    const headers = { ...(await signHeaders(engine(), request)), 'x-amz-meta-added': '1' }
    expect(await send(engine(), { ...request, headers })).toMatchObject({ status: 403, code: 'AccessDenied' })
    await missing('added')
  })

  check('other bytes than the signed hash are refused', async () => {
    const request = putRequest('bytes', {}, 'good')
    const headers = await signHeaders(engine(), request)
    const answer = await send(engine(), { ...request, headers, body: 'evil' })
    expect(answer).toMatchObject({ status: 400, code: 'XAmzContentSHA256Mismatch' })
    await missing('bytes')
  })

  check('a hash that is none is refused', async () => {
    const answer = await sendSigned(engine(), putRequest('hash', { 'x-amz-content-sha256': 'abc' }))
    expect(answer).toMatchObject({ status: 400, code: 'InvalidArgument' })
  })

  check('an unsigned payload is taken as it comes', async () => {
    const answer = await sendSigned(
      engine(),
      putRequest('unsigned-payload', { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }),
    )
    expect(answer.status).toBe(200)
  })

  check('another region is refused', async () => {
    const answer = await sendSigned(engine(), putRequest('region'), { region: 'eu-north-1' })
    expect(answer).toMatchObject({ status: 400, code: 'AuthorizationHeaderMalformed' })
  })

  check('a request signed 16 minutes ago is too old', async () => {
    const date = new Date(Date.now() - 16 * 60_000)
    expect(await sendSigned(engine(), putRequest('old'), { date })).toMatchObject({
      status: 403,
      code: 'RequestTimeTooSkewed',
    })
  })

  check('headers that are no authorization are refused', async () => {
    for (const authorization of ['Basic abc', 'AWS key:signature', 'AWS4-HMAC-SHA256 nothing']) {
      const headers = { ...(await signHeaders(engine(), putRequest('malformed'))), authorization }
      const answer = await send(engine(), { ...putRequest('malformed'), headers })
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.status).toBeLessThan(500)
    }
    await missing('malformed')
  })

  check('a session token that no session has is refused', async () => {
    const answer = await sendSigned(engine(), putRequest('token', { 'x-amz-security-token': 'made-up' }))
    expect(answer).toMatchObject({ code: 'InvalidToken' })
  })

  check('runs of spaces in a header do not change its signature', async () => {
    const request = putRequest('spaces', { 'x-amz-meta-text': 'a   b' })
    expect((await sendSigned(engine(), request)).status).toBe(200)
  })
})

test('the clock is the given one, and its Date tells the client', async () => {
  const now = Date.UTC(2031, 4, 5, 6, 7, 8)
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' }
  const server = await startS3({ credentials, now: () => now, buckets: ['clock'] })
  try {
    const engine = { endpoint: server.endpoint, credentials, region: 'us-east-1' }
    const request = { method: 'PUT', path: '/clock/k', body: 'x' }
    const refused = await sendSigned(engine, request)
    expect(refused).toMatchObject({ status: 403, code: 'RequestTimeTooSkewed' })
    expect(refused.headers.date).toBe('Mon, 05 May 2031 06:07:08 GMT')
    const put = await sendSigned(engine, request, { date: new Date(now) })
    expect(put.status).toBe(200)
    expect(put.headers.etag).toBe(`"${createHash('md5').update('x').digest('hex')}"`)
    const got = await sendSigned(engine, { method: 'HEAD', path: '/clock/k' }, { date: new Date(now) })
    expect(got.headers['last-modified']).toBe('Mon, 05 May 2031 06:07:08 GMT')
  } finally {
    await server.stop()
  }
})
