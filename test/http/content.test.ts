import { describe, expect, it } from 'vitest'
import { BASE } from '../../lambdas/checkpoints/routes.ts'
import { createServiceHandler as createInstancesHandler } from '../../lambdas/instances/handler.ts'
import { createServiceHandler as createKeysHandler } from '../../lambdas/keys/handler.ts'
import { createMemoryInstanceStore } from '../../testkit/memory-instance-store.ts'
import { call, errorOf, proxyEvent } from './support/events.ts'
import { head, recordingHandler } from './support/recording.ts'

const { handler } = recordingHandler()

describe('content', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
  ])('is taken as %s', async (type) => {
    expect((await call(handler, { ...head, headers: { 'content-type': type } })).status).toBe(200)
  })

  it.each([
    undefined,
    '',
    'text/plain',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    ['application/json', 'application/json'],
  ])('is refused as %s', async (type) => {
    const answer = await call(handler, { ...head, headers: { 'content-type': type }, body: 'x'.repeat(4_194_305) })
    expect(answer.status).toBe(415)
    expect(errorOf(answer)).toMatchObject({ code: 'unsupported_media_type', field: 'content-type' })
  })

  it('is refused over the inline limit, with the way that takes it', async () => {
    const answer = await call(handler, { ...head, body: ' '.repeat(4_194_305) })
    expect(answer.status).toBe(413)
    expect(errorOf(answer)).toMatchObject({ code: 'payload_too_large', upload: '/sandbox/checkpoints/v1/uploads' })
  })

  it('is taken at the inline limit', async () => {
    const text = JSON.stringify({ thread_id: 't' })
    expect((await call(handler, { ...head, body: text.padEnd(4_194_304) })).status).toBe(200)
  })

  it.each([
    ['no body', null],
    ['an empty body', ''],
    ['a broken body', '{"thread_id":'],
    ['a body of another format', 'thread_id=t'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['a half surrogate in UTF-8', Buffer.from('7b2274687265616420223a22eda080227d', 'hex')],
    ['UTF-16', Buffer.from('{"thread_id":"t"}', 'utf16le')],
    ['null', 'null'],
    ['a number', '1'],
    ['an array', '[]'],
    ['a string', '"t"'],
  ])('is refused when it is %s', async (_what, body) => {
    const answer = await call(handler, { ...head, body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field: 'body' })
  })

  it('is taken as text when the event says that it is not base64', async () => {
    const event = { ...proxyEvent(head), body: '{"thread_id":"é"}', isBase64Encoded: false }
    expect((await call(handler, event)).status).toBe(200)
    for (const body of [null, '']) {
      expect(errorOf(await call(handler, { ...event, body }))).toMatchObject({ field: 'body' })
    }
  })

  it.each([
    ['an unknown field', { thread_id: 't', extra: 1 }, 'extra'],
    ['a field that objects inherit', { thread_id: 't', toString: 1 }, 'toString'],
    ['an unknown field that the parser made ordinary', '{"thread_id":"t","__proto__":{}}', '__proto__'],
  ])('is refused with %s', async (_what, body, field) => {
    const answer = await call(handler, { path: head.path, body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field })
  })

  it.each([
    ['/append', { checkpoint: {}, expected_head_id: null }, 'writer'],
    ['/append', { checkpoint: {}, expected_head_id: null, writer: 'w' }, 'writer'],
    ['/append', { checkpoint: {}, expected_head_id: null, writer: { token: 1 } }, 'writer.token'],
    ['/append', { checkpoint: {}, expected_head_id: null, writer: {}, request_token: 5 }, 'request_token'],
    ['/append', { checkpoint: {}, expected_head_id: null, writer: {}, request_token: '' }, 'request_token'],
    ['/list', { thread_id: 't', page: 1 }, 'page'],
    ['/references', { all: true }, 'all'],
    ['/writers/acquire', { thread_id: 't', owner_token: 1 }, 'owner_token'],
    ['/blobs/uploads', {}, 'blobs'],
    ['/blobs/uploads', { blobs: [] }, 'blobs'],
    ['/blobs/uploads', { blobs: Array(1001).fill({}) }, 'blobs'],
    ['/blobs/uploads', { blobs: [{ key: 'x', size_bytes: 1 }] }, 'blobs.0.key'],
    [
      '/blobs/uploads',
      { blobs: [{ key: `sandbox-files/sha256/${'a'.repeat(64)}`, size_bytes: -1 }] },
      'blobs.0.size_bytes',
    ],
    [
      '/blobs/uploads',
      { blobs: [{ key: `sandbox-files/sha256/${'a'.repeat(64)}`, size_bytes: 0.5 }] },
      'blobs.0.size_bytes',
    ],
    ['/blobs/downloads', { keys: 'x' }, 'keys'],
    ['/blobs/downloads', { keys: [1] }, 'keys.0'],
    ['/blobs/delete', { keys: [`sandbox-files/sha256/${'A'.repeat(64)}`] }, 'keys.0'],
    ['/blobs/list', {}, 'prefix'],
    ['/uploads', { size_bytes: 0, sha256: 'a'.repeat(64) }, 'size_bytes'],
    ['/blobs/list', { prefix: '\ud800' }, 'prefix'],
    ['/blobs/list', { prefix: 'a'.repeat(91) }, 'prefix'],
    ['/writers/acquire', { thread_id: 't', owner_token: '\ud800' }, 'owner_token'],
    ['/uploads', { size_bytes: 67_108_865, sha256: 'a'.repeat(64) }, 'size_bytes'],
    ['/uploads', { size_bytes: 1, sha256: 'A'.repeat(64) }, 'sha256'],
    ['/uploads', { size_bytes: 1, sha256: 'a'.repeat(63) }, 'sha256'],
  ])('of %s is refused with %j, naming %s', async (route, body, field) => {
    const answer = await call(handler, { path: BASE + route, body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field })
    expect(errorOf(answer).message).toContain(field)
  })

  it('leaves the fields of the contract to the contract', async () => {
    for (const id of [undefined, null, 5, '', '\ud800', {}, ['t'], true]) {
      const answer = await call(handler, { path: `${BASE}/get`, body: { id } })
      expect(answer.status).toBe(400)
      expect(errorOf(answer).code).toBe('SANDBOX_SNAPSHOT_INVALID_ID')
    }
  })
})

describe('a GET', () => {
  it('needs no content type, and its body is ignored', async () => {
    const keys = createKeysHandler({
      create: async () => Promise.reject(new Error('not asked')),
      list: async () => [],
      get: async () => null,
      revoke: async () => undefined,
    })
    for (const body of [null, '', 'no JSON', '{"a":1}']) {
      const answer = await call(keys, {
        method: 'GET',
        path: '/sandbox/keys/v1',
        body,
        headers: { 'content-type': undefined },
      })
      expect(answer).toMatchObject({ status: 200, body: { keys: [] } })
    }
  })
})

describe('services of fixed fields', () => {
  const handlerOfInstances = createInstancesHandler(() => createMemoryInstanceStore())

  it.each([
    ['no body', null, 'body'],
    ['a broken body', '{', 'body'],
    ['invalid UTF-8', Buffer.from([0xff]), 'body'],
    ['a key that would reach a prototype', '{"key":"k","__proto__":{"a":1}}', 'body'],
    ['a key that stands twice', '{"key":"k","key":"l"}', 'key'],
    ['too deep a nesting', `{"key":${'['.repeat(1_024)}${']'.repeat(1_024)}}`, 'body'],
    ['too many values', `{"key":[${'0,'.repeat(1_999_999)}0]}`, 'body'],
    ['an unknown field', { key: 'k', more: 1 }, 'more'],
    ['a wrong type', { key: 1 }, 'key'],
  ])('refuse %s', async (_what, body, field) => {
    const answer = await call(handlerOfInstances, { path: '/sandbox/instances/v1/get', body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field })
  })

  it('refuse a large body without naming another way', async () => {
    const answer = await call(handlerOfInstances, { path: '/sandbox/instances/v1/get', body: ' '.repeat(4_194_305) })
    expect(answer.status).toBe(413)
    expect(errorOf(answer)).not.toHaveProperty('upload')
  })
})
