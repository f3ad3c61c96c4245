import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import {
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { check, describeS3, sendSigned, sha256, signHeaders } from './engine.ts'

describeS3('transfers', (engine) => {
  const head = (Key: string) => engine().s3.send(new HeadObjectCommand({ Bucket: engine().bucket, Key }))
  const read = async (Key: string) => {
    const got = await engine().s3.send(new GetObjectCommand({ Bucket: engine().bucket, Key }))
    return Buffer.from((await got.Body?.transformToByteArray()) ?? [])
  }
  const put = (Key: string, Body: Buffer) =>
    engine().s3.send(new PutObjectCommand({ Bucket: engine().bucket, Key, Body }))
  const missing = (Key: string) => expect(head(Key)).rejects.toMatchObject({ $metadata: { httpStatusCode: 404 } })

  const signed = async (key: string, headers: Record<string, string>) => {
    const request = {
      method: 'PUT',
      path: `/${engine().bucket}/${key}`,
      headers: { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', ...headers },
    }
    return { path: request.path, headers: await signHeaders(engine(), request) }
  }

  check('an upload that the client breaks off leaves nothing', async () => {
    await put('broken/old', Buffer.from('old'))
    for (const key of ['broken/new', 'broken/old']) {
      const { path, headers } = await signed(key, { 'content-length': '1000000' })
      const url = new URL(engine().endpoint)
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      const socket = connect(Number(url.port), url.hostname)
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject)
        socket.write(`PUT ${path} HTTP/1.1\r\n${lines.join('')}\r\n${'x'.repeat(300_000)}`, () => resolve())
      })
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.destroy()
      await closed
    }
    await missing('broken/new')
    expect((await read('broken/old')).toString()).toBe('old')
  })

  check('one connection serves many requests, refused ones among them', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const sockets = new Set<unknown>()
    const send = async (key: string, body: Buffer, headers: Record<string, string> = {}) => {
      const request = await signed(key, { 'content-length': String(body.length), ...headers })
      return new Promise<number>((resolve, reject) => {
        const outgoing = httpRequest(
          `${engine().endpoint}${request.path}`,
          { method: 'PUT', agent, headers: request.headers },
          (incoming) => {
            incoming.resume()
            incoming.on('end', () => resolve(incoming.statusCode ?? 0))
          },
        )
        outgoing.on('socket', (socket) => sockets.add(socket))
        outgoing.on('error', reject)
        outgoing.end(body)
      })
    }
    const large = Buffer.alloc(2_000_000, 'x')
    const statuses = [
      await send('alive/1', large),
      await send('alive/1', large, { 'if-none-match': '*' }),
      await send('alive/2', large, { 'x-amz-checksum-sha256': sha256('other') }),
      await send('alive/3', large, {
        'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
        'x-amz-decoded-content-length': '1000000',
      }),
      await send('alive/4', Buffer.from('small')),
    ]
    agent.destroy()
    expect(statuses).toEqual([200, 412, 400, 400, 200])
    expect(sockets.size).toBe(1)
  })

  check('a client that waits for the go-ahead is refused before it sends', async () => {
    await put('waiting', Buffer.from('first'))
    const outcome = async (key: string, headers: Record<string, string>) => {
      const request = await signed(key, { 'content-length': '5', expect: '100-continue', ...headers })
      return new Promise<{ continued: boolean; status: number }>((resolve, reject) => {
        let continued = false
        const outgoing = httpRequest(`${engine().endpoint}${request.path}`, { method: 'PUT', headers: request.headers })
        outgoing.on('continue', () => {
          continued = true
          outgoing.end('hello')
        })
        outgoing.on('response', (incoming) => {
          resolve({ continued, status: incoming.statusCode ?? 0 })
          incoming.resume()
          outgoing.destroy()
        })
        outgoing.on('error', reject)
        outgoing.flushHeaders()
      })
    }
    expect(await outcome('waiting', { 'if-none-match': '*' })).toEqual({ continued: false, status: 412 })
    expect(await outcome('waiting', {})).toEqual({ continued: true, status: 200 })
    expect((await read('waiting')).toString()).toBe('hello')
  })

  check('an object that is replaced while it is read is read as it was', async () => {
    const first = Buffer.alloc(8_000_000, 'first ')
    await put('replaced', first)
    const got = await engine().s3.send(new GetObjectCommand({ Bucket: engine().bucket, Key: 'replaced' }))
    await put('replaced', Buffer.alloc(8_000_000, 'second '))
    await sendSigned(engine(), { method: 'DELETE', path: `/${engine().bucket}/replaced` })
    expect(sha256(Buffer.from((await got.Body?.transformToByteArray()) ?? []))).toBe(sha256(first))
    await missing('replaced')
  })

  check('an object of parts that is deleted while it is read is read to its end', async () => {
    const at = { Bucket: engine().bucket, Key: 'deleted-parts' }
    const { UploadId } = await engine().s3.send(new CreateMultipartUploadCommand(at))
    const bodies = ['first ', 'second ', 'third '].map((text) => Buffer.alloc(8 * 1024 ** 2, text))
    const Parts: CompletedPart[] = []
    for (const [index, Body] of bodies.entries()) {
      const part = { PartNumber: index + 1 }
      const { ETag } = await engine().s3.send(new UploadPartCommand({ ...at, UploadId, ...part, Body }))
      Parts.push({ ...part, ETag })
    }
    await engine().s3.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload: { Parts } }))
    const got = await engine().s3.send(new GetObjectCommand(at))
    await sendSigned(engine(), { method: 'DELETE', path: `/${at.Bucket}/${at.Key}` })
    const bytes = Buffer.from((await got.Body?.transformToByteArray()) ?? [])
    expect(sha256(bytes)).toBe(sha256(Buffer.concat(bodies)))
    await missing(at.Key)
  })

  check('a reader that leaves does not disturb the others', async () => {
    const bytes = Buffer.alloc(8_000_000, 'bytes ')
    await put('left', bytes)
    const headers = await signHeaders(engine(), { method: 'GET', path: `/${engine().bucket}/left` })
    await new Promise<void>((resolve, reject) => {
      const outgoing = httpRequest(`${engine().endpoint}/${engine().bucket}/left`, { headers }, (incoming) => {
        incoming.once('data', () => {
          incoming.destroy()
          resolve()
        })
      })
      outgoing.on('error', reject)
      outgoing.end()
    })
    expect(sha256(await read('left'))).toBe(sha256(bytes))
  })

  check('readers and writers of one key see whole objects only', async () => {
    const bodies = Array.from({ length: 6 }, (_, index) => Buffer.alloc(200_000 + index, String(index)))
    await put('contended', bodies[0] ?? Buffer.alloc(0))
    const whole = new Set(bodies.map((body) => sha256(body)))
    const writes = bodies.map((body) => put('contended', body))
    const reads = Array.from({ length: 12 }, () => read('contended'))
    await Promise.all(writes)
    for (const bytes of await Promise.all(reads)) expect(whole.has(sha256(bytes))).toBe(true)
  })

  check('a path that is no UTF-8 is refused', async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const url = new URL(engine().endpoint)
      const options = { host: url.hostname, port: url.port, path: `/${engine().bucket}/%FF` }
      const outgoing = httpRequest(options, (incoming) => {
        incoming.resume()
        resolve(incoming.statusCode ?? 0)
      })
      outgoing.on('error', reject)
      outgoing.end()
    })
    expect(status).toBe(400)
  })
})
