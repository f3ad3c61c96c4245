import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { check, describeS3, sendSigned, signHeaders } from './engine.ts'

describeS3('conditional writes', (engine) => {
  const put = (Key: string, Body: string, condition: { IfNoneMatch?: string; IfMatch?: string | undefined } = {}) =>
    engine().s3.send(new PutObjectCommand({ Bucket: engine().bucket, Key, Body, ...condition }))
  const read = async (Key: string) =>
    (await engine().s3.send(new GetObjectCommand({ Bucket: engine().bucket, Key }))).Body?.transformToString()
  const refused = (promise: Promise<unknown>, status: number, name: string) =>
    expect(promise).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } })

  check('If-None-Match * creates, and never replaces', async () => {
    await put('create', 'first', { IfNoneMatch: '*' })
    await refused(put('create', 'second', { IfNoneMatch: '*' }), 412, 'PreconditionFailed')
    expect(await read('create')).toBe('first')
  })

  check('If-None-Match * creates again after a delete', async () => {
    await put('recreate', 'first')
    await engine().s3.send(new DeleteObjectCommand({ Bucket: engine().bucket, Key: 'recreate' }))
    await put('recreate', 'second', { IfNoneMatch: '*' })
    expect(await read('recreate')).toBe('second')
  })

  check('of many that create at once, one wins and its bytes stay', async () => {
    const bodies = Array.from({ length: 20 }, (_, index) => `writer ${index} `.repeat(1 + index * 500))
    const results = await Promise.allSettled(bodies.map((body) => put('race', body, { IfNoneMatch: '*' })))
    const winners = bodies.filter((_, index) => results[index]?.status === 'fulfilled')
    expect(winners).toHaveLength(1)
    expect(await read('race')).toBe(winners[0])
  })

  check('of many whose bodies come after all were let in, one wins', async () => {
    const begin = async (body: string) => {
      const request = {
        method: 'PUT',
        path: `/${engine().bucket}/let-in`,
        headers: {
          'if-none-match': '*',
          'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
          'content-length': String(body.length),
          expect: '100-continue',
        },
      }
      const headers = await signHeaders(engine(), request)
      const outgoing = httpRequest(`${engine().endpoint}${request.path}`, { method: 'PUT', headers })
      const status = new Promise<number>((resolve, reject) => {
        outgoing.once('error', reject)
        outgoing.once('response', (incoming) => {
          incoming.resume()
          resolve(incoming.statusCode ?? 0)
        })
      })
      const letIn = once(outgoing, 'continue')
      outgoing.flushHeaders()
      await letIn
      return { body, status, finish: () => outgoing.end(body) }
    }
    const writers = await Promise.all(Array.from({ length: 10 }, (_, index) => begin(`writer ${index}`)))
    for (const writer of writers) writer.finish()
    const statuses = await Promise.all(writers.map((writer) => writer.status))
    expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 412)])
    expect(await read('let-in')).toBe(writers[statuses.indexOf(200)]?.body)
  })

  check('If-Match replaces only the version it names', async () => {
    const { ETag } = await put('swap', 'first')
    await put('swap', 'second', { IfMatch: ETag })
    await refused(put('swap', 'third', { IfMatch: ETag }), 412, 'PreconditionFailed')
    expect(await read('swap')).toBe('second')
  })

  check('of many that swap the same version, one wins', async () => {
    const { ETag } = await put('swap-race', 'base')
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => put('swap-race', `writer ${index}`, { IfMatch: ETag })),
    )
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
  })

  check('If-Match on a missing object answers NoSuchKey', async () => {
    await refused(put('swap-missing', 'x', { IfMatch: '"00000000000000000000000000000000"' }), 404, 'NoSuchKey')
  })

  check('If-None-Match with an ETag is not implemented for writes', async () => {
    const answer = await sendSigned(engine(), {
      method: 'PUT',
      path: `/${engine().bucket}/none-match`,
      headers: { 'if-none-match': '"00000000000000000000000000000000"' },
      body: 'x',
    })
    expect(answer).toMatchObject({ status: 501, code: 'NotImplemented' })
  })

  check('If-Match guards a delete', async () => {
    const { ETag } = await put('guarded', 'first')
    await put('guarded', 'second')
    const remove = (IfMatch: string | undefined) =>
      engine().s3.send(new DeleteObjectCommand({ Bucket: engine().bucket, Key: 'guarded', IfMatch }))
    await refused(remove(ETag), 412, 'PreconditionFailed')
    expect(await read('guarded')).toBe('second')
  })
})
