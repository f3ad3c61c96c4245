import { createHash, createHmac } from 'node:crypto'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { check, describeS3, send, sha256, signHeaders } from './engine.ts'

const signedForm = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'
const unsignedTrailerForm = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
const hex = (data: string) => createHash('sha256').update(data).digest('hex')

describeS3('aws-chunked bodies', (engine) => {
  const read = async (Key: string) =>
    (await engine().s3.send(new GetObjectCommand({ Bucket: engine().bucket, Key }))).Body?.transformToString()
  const missing = (key: string) => expect(read(key)).rejects.toMatchObject({ name: 'NoSuchKey' })

  /** Sends a body whose framing depends on the request's signature. */
  const putFramed = async (
    key: string,
    options: { form: string; size: number; headers?: Record<string, string> },
    frame: (sign: (kind: string, hashes: string) => string) => string,
  ) => {
    const request = {
      method: 'PUT',
      path: `/${engine().bucket}/${key}`,
      headers: {
        'content-encoding': 'aws-chunked',
        'x-amz-content-sha256': options.form,
        'x-amz-decoded-content-length': String(options.size),
        ...options.headers,
      },
    }
    const headers = await signHeaders(engine(), request)
    const date = headers['x-amz-date'] ?? ''
    const { secretAccessKey } = engine().credentials
    const scope = [date.slice(0, 8), engine().region, 's3', 'aws4_request']
    const signingKey = scope.reduce<Buffer>(
      (key, part) => createHmac('sha256', key).update(part).digest(),
      Buffer.from(`AWS4${secretAccessKey}`),
    )
    let previous = /Signature=([0-9a-f]+)/.exec(headers.authorization ?? '')?.[1] ?? ''
    const sign = (kind: string, hashes: string) => {
      const text = [`AWS4-HMAC-SHA256-${kind}`, date, scope.join('/'), previous, hashes].join('\n')
      previous = createHmac('sha256', signingKey).update(text).digest('hex')
      return previous
    }
    return send(engine(), { ...request, headers, body: frame(sign) })
  }

  const signedChunks = (sign: (kind: string, hashes: string) => string, chunks: string[]) =>
    [...chunks, '']
      .map((chunk) => {
        const signature = sign('PAYLOAD', `${hex('')}\n${hex(chunk)}`)
        const line = `${chunk.length.toString(16)};chunk-signature=${signature}\r\n`
        return chunk === '' ? line : `${line}${chunk}\r\n`
      })
      .join('')

  check('signed chunks are put together', async () => {
    const chunks = ['x'.repeat(70_000), 'y'.repeat(10), 'z']
    const answer = await putFramed('signed', { form: signedForm, size: 70_011 }, (sign) => {
      return `${signedChunks(sign, chunks)}\r\n`
    })
    expect(answer.status).toBe(200)
    expect(await read('signed')).toBe(chunks.join(''))
  })

  check('a chunk with other bytes than the signed ones is refused', async () => {
    const answer = await putFramed('forged', { form: signedForm, size: 8 }, (sign) =>
      `${signedChunks(sign, ['good', 'body'])}\r\n`.replace('body', 'evil'),
    )
    expect(answer).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
    await missing('forged')
  })

  check('chunks in another order are refused', async () => {
    const answer = await putFramed('reordered', { form: signedForm, size: 8 }, (sign) => {
      const body = signedChunks(sign, ['good', 'body'])
      const length = '4;chunk-signature='.length + 64 + '\r\ngood\r\n'.length
      return `${body.slice(length, 2 * length)}${body.slice(0, length)}${body.slice(2 * length)}\r\n`
    })
    expect(answer).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
    await missing('reordered')
  })

  check('a signed trailer carries the checksum; a forged one is refused', async () => {
    const put = (key: string, forge: (body: string) => string) =>
      putFramed(
        key,
        { form: `${signedForm}-TRAILER`, size: 4, headers: { 'x-amz-trailer': 'x-amz-checksum-sha256' } },
        (sign) => {
          const chunks = signedChunks(sign, ['body'])
          const trailer = `x-amz-checksum-sha256:${sha256('body')}\n`
          const signature = sign('TRAILER', hex(trailer))
          return forge(`${chunks}${trailer.trimEnd()}\r\nx-amz-trailer-signature:${signature}\r\n\r\n`)
        },
      )
    expect(await put('trailer', (body) => body)).toMatchObject({
      status: 200,
      headers: { 'x-amz-checksum-sha256': sha256('body') },
    })
    const forged = await put('trailer-forged', (body) => body.replace(sha256('body'), sha256('evil')))
    expect(forged).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
    await missing('trailer-forged')
  })

  const unsigned = (key: string, body: string, size: number, trailer = 'x-amz-checksum-sha256') =>
    putFramed(key, { form: unsignedTrailerForm, size, headers: { 'x-amz-trailer': trailer } }, () => body)

  check('an unsigned trailer is verified', async () => {
    const right = `4\r\nbody\r\n0\r\nx-amz-checksum-sha256:${sha256('body')}\r\n\r\n`
    expect((await unsigned('unsigned', right, 4)).status).toBe(200)
    expect(await read('unsigned')).toBe('body')
    const wrong = `4\r\nevil\r\n0\r\nx-amz-checksum-sha256:${sha256('body')}\r\n\r\n`
    expect(await unsigned('unsigned-wrong', wrong, 4)).toMatchObject({ status: 400, code: 'BadDigest' })
    await missing('unsigned-wrong')
  })

  check('a promised trailer must come', async () => {
    const answer = await unsigned('no-trailer', '4\r\nbody\r\n0\r\n\r\n', 4)
    expect(answer.status).toBe(400)
    await missing('no-trailer')
  })

  check('a trailer that is no checksum is refused', async () => {
    const answer = await unsigned('odd-trailer', '4\r\nbody\r\n0\r\nx-amz-meta-a:1\r\n\r\n', 4, 'x-amz-meta-a')
    expect(answer).toMatchObject({ status: 400, code: 'InvalidRequest' })
  })

  check('more or fewer bytes than announced are refused', async () => {
    const body = `4\r\nbody\r\n0\r\nx-amz-checksum-sha256:${sha256('body')}\r\n\r\n`
    for (const size of [3, 5]) {
      expect(await unsigned('size', body, size)).toMatchObject({ status: 400, code: 'IncompleteBody' })
    }
    await missing('size')
  })

  check('framing that is none is refused', async () => {
    const bodies = ['body', 'zz\r\nbody\r\n0\r\n\r\n', '4\r\nbodyXX0\r\n\r\n', '4\r\nbo', '9'.repeat(20_000)]
    for (const body of bodies) {
      const answer = await unsigned('framing', body, 4)
      expect(answer.status).toBe(400)
    }
    await missing('framing')
  })

  check('the length without the framing must be stated', async () => {
    const request = {
      method: 'PUT',
      path: `/${engine().bucket}/unstated`,
      headers: { 'x-amz-content-sha256': signedForm },
      body: '0\r\n\r\n',
    }
    const answer = await send(engine(), { ...request, headers: await signHeaders(engine(), request) })
    expect(answer).toMatchObject({ status: 411, code: 'MissingContentLength' })
  })

  check('an encoding beside aws-chunked is kept', async () => {
    const answer = await putFramed(
      'encoded',
      { form: signedForm, size: 4, headers: { 'content-encoding': 'aws-chunked,gzip' } },
      (sign) => `${signedChunks(sign, ['body'])}\r\n`,
    )
    expect(answer.status).toBe(200)
    const got = await engine().s3.send(new GetObjectCommand({ Bucket: engine().bucket, Key: 'encoded' }))
    expect(got.ContentEncoding).toBe('gzip')
  })
})
