import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../client/index.ts'
import { KEPT_NAMES, REFUSED_NAMES, SHORTENED_NAMES } from '../files/support/names.ts'
import { send } from '../store/support/send.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { dispositionName, type FileCall, field, fileCaller, filePart, rawForm } from './support/files.ts'

const HOUR = 3_600_000
const clock = { now: Date.parse('2026-03-01T10:00:00.123Z') }

let stack: LocalStack
let call: FileCall
let scopes = 0
beforeAll(async () => {
  stack = await startLocalStack({ now: () => clock.now })
  call = callerAs()
})
afterAll(() => stack.stop())

/** A caller with the platform key in an app that nothing has used yet. */
function callerAs(who: Record<string, string> = { 'x-api-key': stack.apiKey }, project = `p${++scopes}`): FileCall {
  return fileCaller(stack, { tenant: 'acme', project }, who)
}

async function keyOf(role: 'viewer' | 'writer' | 'project_admin', rights: ('act_for_users' | 'act_as_sandbox')[] = []) {
  const client = createClient({ url: stack.url, apiKey: stack.apiKey, tenant: 'acme', project: 'p' })
  const { key } = await client.keys.create({ name: role, role, bindings: [{ tenant: '*', project: '*' }], rights })
  return key
}

/** Control characters of ASCII break a part's head, and half surrogates have no UTF-8. */
function canStandInForm(name: string): boolean {
  return name.isWellFormed() && [...name].every((character) => character >= ' ' && character !== '\u007f')
}

/** Names that S3 would not take as they are in a header. */
const HARD_NAMES = KEPT_NAMES.filter(([what]) => /ASCII|quotes|percent|Japanese|emoji|no-break|NF|commas/.test(what))

const OUTPUT = field('origin', 'sandbox')
const announced = { filename: 'a.txt', mime_type: 'text/plain', size_bytes: 5 }

describe('a form', () => {
  it('makes a file, which is told, listed and deleted', async () => {
    const made = await call('POST', '', { form: rawForm(filePart()) })
    expect(made).toMatchObject({ status: 201 })
    expect(made.json).toEqual({
      type: 'file',
      id: expect.stringMatching(/^file_[0-9a-f]{32}$/),
      filename: 'a.txt',
      mime_type: 'text/plain',
      size_bytes: 5,
      created_at: '2026-03-01T10:00:00.123Z',
      downloadable: false,
      expires_at: '2026-03-31T10:00:00.123Z',
    })
    const path = `/${made.json.id}`
    expect(await call('GET', path)).toMatchObject({ status: 200, json: made.json })
    expect(await call('GET')).toMatchObject({ status: 200, json: { data: [made.json], next_page: null } })
    expect(await call('GET', `${path}/content`)).toMatchObject({
      status: 409,
      json: { error: { code: 'file_not_downloadable' } },
    })
    expect(await call('DELETE', path)).toMatchObject({ status: 204, text: '' })
    expect(await call('DELETE', path)).toMatchObject({ status: 404 })
  })

  it('that any client sends is taken', async () => {
    const body = new FormData()
    body.append('expires_in_seconds', '3600')
    body.append('scope', 'app')
    body.append('file', new File(['\u00fc'], 'D\u2019Arcy.txt', { type: 'text/plain;charset=utf-8' }))
    const sent = new Response(body)
    const form = { type: sent.headers.get('content-type') ?? '', bytes: new Uint8Array(await sent.arrayBuffer()) }
    expect((await call('POST', '', { form })).json).toMatchObject({
      filename: 'D\u2019Arcy.txt',
      mime_type: 'text/plain',
      size_bytes: 2,
      expires_at: '2026-03-01T11:00:00.123Z',
    })
  })

  it('may have its fields in any order, and bytes that look like its boundary', async () => {
    const content = Buffer.from('\r\n--a-boundary-of-the-test\r\n--\r\n\0\xff', 'latin1')
    const form = rawForm(field('scope', 'user'), filePart('x', content, 'application/x-y'), OUTPUT)
    const made = await call('POST', '', { form })
    const { bytes, headers } = await call('GET', `/${made.json.id}/content`)
    expect(bytes.equals(content)).toBe(true)
    expect(headers.get('content-type')).toBe('application/x-y')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it.each([
    ['an unknown field', rawForm(filePart(), field('color', 'red')), 400, 'color'],
    ['a field of the prototype', rawForm(filePart(), field('__proto__', 'x')), 400, '__proto__'],
    ['an unknown file', rawForm(filePart(), { disposition: 'name="other"; filename="b"', content: '' }), 400, 'other'],
    ['two files', rawForm(filePart(), filePart()), 400, 'file'],
    ['no file', rawForm(field('scope', 'app')), 400, 'file'],
    ['a file that is none', rawForm(field('file', 'x')), 400, 'file'],
    [
      'a file without a name',
      rawForm({ disposition: 'name="file"', type: 'application/octet-stream', content: 'x' }),
      400,
      'file',
    ],
    ['a field twice', rawForm(filePart(), field('scope', 'app'), field('scope', 'app')), 400, 'scope'],
    ['a field without a name', rawForm(filePart(), { disposition: 'x="y"', content: '1' }), 400, 'body'],
    ['another scope', rawForm(filePart(), field('scope', 'team')), 400, 'scope'],
    ['another origin', rawForm(filePart(), field('origin', 'user')), 400, 'origin'],
    ['a life of no number', rawForm(filePart(), field('expires_in_seconds', '1e4')), 400, 'expires_in_seconds'],
    ['an empty life', rawForm(filePart(), field('expires_in_seconds', '')), 400, 'expires_in_seconds'],
    ['a life too short', rawForm(filePart(), field('expires_in_seconds', '3599')), 400, 'expires_in_seconds'],
    ['a life too long', rawForm(filePart(), field('expires_in_seconds', '7776001')), 400, 'expires_in_seconds'],
    ['a field too long', rawForm(filePart(), field('scope', 'x'.repeat(2_000))), 400, 'scope'],
    [
      'many fields',
      rawForm(...Array.from({ length: 40 }, (_, index) => field(`f${index}`, '')), filePart()),
      400,
      'body',
    ],
    ['no boundary', { ...rawForm(filePart()), type: 'multipart/form-data; x=y' }, 400, 'body'],
    ['no end', { ...rawForm(filePart()), bytes: rawForm(filePart()).bytes.slice(0, -20) }, 400, 'body'],
    ['no parts', { ...rawForm(), bytes: new Uint8Array() }, 400, 'body'],
    ['JSON', { type: 'application/json', bytes: rawForm(filePart()).bytes }, 415, 'content-type'],
  ])('with %s is refused', async (_what, form, status, name) => {
    const answer = await call('POST', '', { form })
    expect(answer).toMatchObject({ status, json: { error: { field: name } } })
  })

  it('of 4 MiB is taken, and more is told where to go', async () => {
    const content = Buffer.alloc(4_194_305, 'x')
    const fits = await call('POST', '', { form: rawForm(filePart('a', content.subarray(1))) })
    expect(fits).toMatchObject({ status: 201, json: { size_bytes: 4_194_304 } })
    for (const size of [4_194_305, 4_400_000]) {
      const answer = await call('POST', '', { form: rawForm(filePart('a', Buffer.alloc(size))) })
      expect(answer).toMatchObject({
        status: 413,
        json: { error: { code: 'payload_too_large', upload: '/sandbox/files/v1/uploads' } },
      })
    }
    for (const size of [6_000_000, 10_400_000, 10_600_000]) {
      const answer = await call('POST', '', { form: rawForm(filePart('a', Buffer.alloc(size))) })
      expect(answer).toMatchObject({ status: 413, json: { error: { code: 'payload_too_large' } } })
    }
  })
})

describe('a name', () => {
  it.each(KEPT_NAMES)(
    'with %s comes back from a form, in the metadata and of the download',
    async (_what, filename) => {
      const made = await call('POST', '', { form: rawForm(filePart(filename), OUTPUT) })
      expect(made).toMatchObject({ status: 201, json: { filename } })
      const { status, headers } = await call('GET', `/${made.json.id}/content`)
      expect(status).toBe(200)
      expect(headers.get('content-disposition')).toMatch(/^attachment; [ -~]+$/)
      expect(dispositionName(headers.get('content-disposition'))).toBe(filename)
    },
  )

  it.each(HARD_NAMES)('with %s comes back from a presigned upload, of its redirect too', async (_what, filename) => {
    const size = 4_194_305
    const upload = await call('POST', '/uploads', {
      json: { ...announced, filename, size_bytes: size, origin: 'sandbox' },
    })
    await send({ ...upload.json, expiresAt: 0 }, Buffer.alloc(size))
    const made = await call('POST', `/uploads/${upload.json.upload_id}/complete`)
    expect(made).toMatchObject({ status: 201, json: { filename } })
    const { status, headers } = await call('GET', `/${made.json.id}/content`)
    expect(status).toBe(307)
    const answer = await fetch(headers.get('location') ?? '', { method: 'GET', headers: { range: 'bytes=0-0' } })
    expect(answer.status).toBe(206)
    await answer.body?.cancel()
    expect(dispositionName(answer.headers.get('content-disposition'))).toBe(filename)
    expect(answer.headers.get('content-type')).toBe('text/plain')
  })

  it.each(SHORTENED_NAMES)('%j becomes %j', async (filename, kept) => {
    const escaped = await call('POST', '', { form: rawForm(filePart(filename)) })
    expect(escaped.json).toMatchObject({ filename: kept })
    const upload = await call('POST', '/uploads', { json: { ...announced, filename } })
    await send({ ...upload.json, expiresAt: 0 }, Buffer.from('hello'))
    const made = await call('POST', `/uploads/${upload.json.upload_id}/complete`)
    expect(made.json).toMatchObject({ filename: kept })
  })

  it.each(REFUSED_NAMES)('of %s is refused in JSON', async (_what, filename) => {
    const answer = await call('POST', '/uploads', { json: { ...announced, filename } })
    expect(answer).toMatchObject({ status: 400, json: { error: { code: 'invalid_input', field: 'filename' } } })
  })

  it.each(REFUSED_NAMES.filter(([, name]) => canStandInForm(name)))(
    'of %s is refused in a form',
    async (_what, filename) => {
      const answer = await call('POST', '', { form: rawForm(filePart(filename)) })
      expect(answer).toMatchObject({ status: 400, json: { error: { code: 'invalid_input' } } })
    },
  )

  it.each([
    ['a byte that is no UTF-8', 'caf\xe9.txt'],
    ['half of a surrogate pair', 'a\xed\xa0\xbdb'],
    ['a NUL', 'a\0b'],
    ['a line feed', 'a\nb'],
    ['a DEL', 'a\x7fb'],
  ])('with %s is refused in a form', async (_what, latin1) => {
    const { type, bytes } = rawForm(filePart('NAME'))
    const text = Buffer.from(bytes).toString('latin1').replace('NAME', latin1)
    const answer = await call('POST', '', { form: { type, bytes: new Uint8Array(Buffer.from(text, 'latin1')) } })
    expect(answer.status).toBe(400)
  })

  it('may be told in the extended way', async () => {
    const disposition = 'name="file"; filename="x"; filename*=UTF-8\'\'%22a%22%20%E5%A3%B2.txt'
    const answer = await call('POST', '', { form: rawForm({ disposition, content: 'x' }) })
    expect(answer.json).toMatchObject({ filename: '"a" \u58f2.txt' })
  })
})

describe('a presigned upload', () => {
  it('takes 32 MiB, and is answered with the same file when it is completed again', async () => {
    const content = Buffer.alloc(33_554_432, 'y')
    const json = {
      ...announced,
      size_bytes: content.length,
      origin: 'sandbox',
      scope: 'app',
      expires_in_seconds: 3_600,
    }
    const upload = await call('POST', '/uploads', { json })
    expect(upload).toMatchObject({
      status: 201,
      json: { upload_id: expect.any(String), method: 'PUT', url: expect.any(String), headers: expect.any(Object) },
    })
    expect(Object.keys(upload.json).sort()).toEqual(['expires_at', 'headers', 'method', 'upload_id', 'url'])
    const complete = `/uploads/${upload.json.upload_id}/complete`
    expect(await call('POST', complete)).toMatchObject({ status: 409, json: { error: { code: 'upload_incomplete' } } })
    expect((await send({ ...upload.json, expiresAt: 0 }, content)).status).toBe(200)
    const first = await call('POST', complete, { json: {} })
    expect(first).toMatchObject({ status: 201, json: { size_bytes: content.length, downloadable: true } })
    expect(await call('POST', complete)).toMatchObject({ status: 200, json: first.json })
    const { headers } = await call('GET', `/${first.json.id}/content`)
    const answer = await fetch(headers.get('location') ?? '')
    expect(Buffer.from(await answer.arrayBuffer()).equals(content)).toBe(true)
  })

  it.each([
    [{ ...announced, size_bytes: 33_554_433 }, 413, 'size_bytes'],
    [{ ...announced, size_bytes: -1 }, 400, 'size_bytes'],
    [{ ...announced, size_bytes: 0.5 }, 400, 'size_bytes'],
    [{ ...announced, size_bytes: '5' }, 400, 'size_bytes'],
    [{ ...announced, mime_type: 'text' }, 400, 'mime_type'],
    [{ ...announced, mime_type: undefined }, 400, 'mime_type'],
    [{ ...announced, filename: 1 }, 400, 'filename'],
    [{ ...announced, sha256: 'xyz' }, 400, 'sha256'],
    [{ ...announced, scope: 'all' }, 400, 'scope'],
    [{ ...announced, origin: true }, 400, 'origin'],
    [{ ...announced, expires_in_seconds: 3_599 }, 400, 'expires_in_seconds'],
    [{ ...announced, expires_in_seconds: 3_600.5 }, 400, 'expires_in_seconds'],
    [{ ...announced, expires_in_seconds: '3600' }, 400, 'expires_in_seconds'],
    [{ ...announced, expires_in_seconds: null }, 400, 'expires_in_seconds'],
    [{ ...announced, color: 'red' }, 400, 'color'],
    [[], 400, 'body'],
    [null, 400, 'body'],
  ])('of %j is answered with %d', async (json, status, name) => {
    expect(await call('POST', '/uploads', { json })).toMatchObject({ status, json: { error: { field: name } } })
  })

  it('is completed without a body or with an empty object, and nothing else', async () => {
    const path = '/uploads/00000000-0000-4000-8000-000000000000/complete'
    expect(await call('POST', path, { json: { x: 1 } })).toMatchObject({ status: 400, json: { error: { field: 'x' } } })
    const unknown = await call('POST', path)
    expect(unknown).toMatchObject({ status: 404, json: { error: { code: 'not_found' } } })
    expect((await call('POST', '/uploads/x%2F%00/complete')).text).toBe(unknown.text)
  })

  it('whose bytes are others than its hash said is not there', async () => {
    const sha256 = '2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824'
    const { json } = await call('POST', '/uploads', { json: { ...announced, sha256 } })
    expect((await send({ ...json, expiresAt: 0 }, Buffer.from('hallo'))).status).toBe(400)
    expect((await call('POST', `/uploads/${json.upload_id}/complete`)).status).toBe(409)
    expect((await send({ ...json, expiresAt: 0 }, Buffer.from('hello'))).status).toBe(200)
    expect((await call('POST', `/uploads/${json.upload_id}/complete`)).status).toBe(201)
  })
})

describe('a list', () => {
  it('has pages, the newest first', async () => {
    const inApp = callerAs()
    const ids: string[] = []
    for (let index = 0; index < 23; index++) {
      clock.now += 1
      ids.unshift((await inApp('POST', '', { form: rawForm(filePart(`${index}`)) })).json.id)
    }
    const first = await inApp('GET')
    expect(first.json.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 20))
    const second = await inApp('GET', `?page=${first.json.next_page}`)
    expect(second.json).toMatchObject({ next_page: null })
    expect(second.json.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(20))
    expect((await inApp('GET', '?limit=100')).json.data).toHaveLength(23)
    expect((await inApp('GET', '?limit=1')).json.data).toHaveLength(1)
  })

  it.each([
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=',
    'limit=1.5',
    'limit=-1',
    'page=x',
    'page=',
    'color=red',
    'limit=1&limit=2',
  ])('with %s is refused', async (query) => {
    const answer = await call('GET', `?${query}`)
    expect(answer).toMatchObject({ status: 400, json: { error: { field: query.split('=')[0] } } })
  })
})

describe('who may', () => {
  it('leave files as a sandbox is said by a right', async () => {
    const key = await keyOf('project_admin')
    const without = callerAs({ 'x-api-key': key })
    const refused = await without('POST', '', { form: rawForm(filePart(), OUTPUT) })
    const error = { code: 'forbidden', message: expect.stringContaining('act_as_sandbox') }
    expect(refused).toMatchObject({ status: 403, json: { error } })
    const upload = { json: { ...announced, origin: 'sandbox' } }
    expect((await without('POST', '/uploads', upload)).status).toBe(403)
    expect((await without('POST', '', { form: rawForm(filePart()) })).status).toBe(201)
    const sandbox = callerAs({ 'x-api-key': await keyOf('writer', ['act_as_sandbox']) })
    const made = await sandbox('POST', '', { form: rawForm(filePart(), OUTPUT) })
    expect(made).toMatchObject({ status: 201, json: { downloadable: true, expires_at: null } })
    expect((await sandbox('GET', `/${made.json.id}/content`)).text).toBe('hello')
  })

  it('name a user is said by a right', async () => {
    const key = await keyOf('project_admin')
    const named = callerAs({ 'x-api-key': key, 'x-sandbox-user-id': 'ann' })
    for (const answer of [await named('GET'), await named('POST', '', { form: rawForm(filePart()) })]) {
      const error = { code: 'forbidden', message: expect.stringContaining('act_for_users') }
      expect(answer).toMatchObject({ status: 403, json: { error } })
    }
    const allowed = { 'x-api-key': await keyOf('writer', ['act_for_users']), 'x-sandbox-user-id': 'ann' }
    expect((await callerAs(allowed)('GET')).status).toBe(200)
  })

  it.each([' ', '', '\u00e9', 'x'.repeat(256)])('no user is named %j', async (name) => {
    const answer = await call('GET', '', { headers: { 'x-sandbox-user-id': name } })
    expect(answer).toMatchObject({ status: 400, json: { error: { field: 'X-Sandbox-User-Id' } } })
  })

  it('write is said by the role', async () => {
    const project = `p${++scopes}`
    const { json } = await callerAs(undefined, project)('POST', '', { form: rawForm(filePart()) })
    const viewer = callerAs({ 'x-api-key': await keyOf('viewer') }, project)
    expect((await viewer('GET', `/${json.id}`)).status).toBe(200)
    for (const answer of [
      await viewer('POST', '', { form: rawForm(filePart()) }),
      await viewer('POST', '/uploads', { json: announced }),
      await viewer('POST', '/uploads/x/complete'),
      await viewer('DELETE', `/${json.id}`),
    ]) {
      expect(answer.status).toBe(403)
    }
  })

  it('call at all is said by a key, and for what by the headers', async () => {
    expect((await callerAs({})('GET')).status).toBe(401)
    const headers = { 'x-sandbox-tenant-id': '' }
    expect((await call('GET', '', { headers })).status).toBe(400)
  })
})

it.each(['PUT', 'PATCH'])('%s is no method of a file', async (method) => {
  const answer = await call(method, '/file_1', { json: {} })
  expect(answer).toMatchObject({ status: 405 })
  expect(answer.headers.get('allow')).toBe('DELETE, GET, OPTIONS')
})

it('an expired file is gone everywhere at once', async () => {
  const { json } = await call('POST', '', { form: rawForm(filePart(), OUTPUT, field('expires_in_seconds', '3600')) })
  clock.now += HOUR
  const unknown = await call('GET', '/file_0')
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/content'],
    ['DELETE', ''],
  ] as const) {
    const answer = await call(method, `/${json.id}${path}`)
    expect([answer.status, answer.text]).toEqual([404, unknown.text])
  }
})
