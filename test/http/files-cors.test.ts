import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHandler } from '../../lambdas/files/handler.ts'
import { type Engines, startEngines } from '../support/engines.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { call as callHandler, proxyEvent } from './support/events.ts'
import { FILES, field, fileCaller, filePart, rawForm } from './support/files.ts'

const PAGE = 'https://app.example'

let stack: LocalStack
let engines: Engines
beforeAll(async () => {
  stack = await startLocalStack()
  engines = await startEngines()
})
afterAll(async () => {
  await stack.stop()
  await engines.stop()
})

function preflight(url: string, method: string, headers = 'x-api-key,x-sandbox-tenant-id,content-type') {
  return fetch(url, {
    method: 'OPTIONS',
    headers: { origin: PAGE, 'access-control-request-method': method, 'access-control-request-headers': headers },
  })
}

describe('a page of any origin, in the local stack', () => {
  it.each([
    ['', 'POST, GET'],
    ['/uploads', 'POST'],
    ['/uploads/x/complete', 'POST'],
    ['/file_1', 'GET, DELETE'],
    ['/file_1/content', 'GET'],
  ])('is told what it may send to %j, without a key', async (path, methods) => {
    const answer = await preflight(`${stack.url}${FILES}${path}`, 'GET')
    expect(answer.status).toBe(204)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': methods,
      'access-control-allow-headers': 'x-api-key,x-sandbox-tenant-id,content-type',
      'access-control-max-age': '7200',
      'x-request-id': expect.any(String),
    })
  })

  it('may read answers, and errors of the functions and of the gateway', async () => {
    const call = fileCaller(stack, { tenant: 'a', project: 'b' }, { 'x-api-key': stack.apiKey, origin: PAGE })
    const made = await call('POST', '', { form: rawForm(filePart(), field('origin', 'sandbox')) })
    const anonymous = fileCaller(stack, { tenant: 'a', project: 'b' }, { origin: PAGE })
    const answers = [
      made,
      await call('GET', `/${made.json.id}/content`),
      await call('GET', '/file_0'),
      await call('GET', '/file_0/content'),
      await call('GET', '?limit=0'),
      await call('PUT', ''),
      await call('POST', '', { form: rawForm(filePart('a', new Uint8Array(11_000_000))) }),
      await anonymous('GET'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 404, 404, 400, 405, 413, 401])
    for (const { status, headers } of answers) {
      expect(headers.get('access-control-allow-origin'), String(status)).toBe('*')
      expect(headers.get('access-control-expose-headers'), String(status)).toBe('*')
    }
  })

  it('may send presigned uploads, and follow the redirect of a download', async () => {
    const call = fileCaller(stack, { tenant: 'a', project: 'b' }, { 'x-api-key': stack.apiKey, origin: PAGE })
    const size = 4_194_305
    const json = { filename: 'a', mime_type: 'a/b', size_bytes: size, origin: 'sandbox' }
    const upload = await call('POST', '/uploads', { json })
    const allowed = await preflight(upload.json.url, 'PUT', 'content-type,if-none-match')
    expect(allowed.status).toBe(200)
    expect(allowed.headers.get('access-control-allow-headers')).toBe('content-type, if-none-match')
    const { 'content-length': _, ...headers } = upload.json.headers
    const stored = await fetch(upload.json.url, {
      method: 'PUT',
      headers: { ...headers, origin: PAGE },
      body: new Uint8Array(size),
    })
    expect([stored.status, stored.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    const made = await call('POST', `/uploads/${upload.json.upload_id}/complete`)
    const redirect = await call('GET', `/${made.json.id}/content`)
    expect([redirect.status, redirect.headers.get('access-control-allow-origin')]).toEqual([307, '*'])
    const location = redirect.headers.get('location') ?? ''
    expect((await preflight(location, 'GET', 'x-api-key,x-sandbox-tenant-id')).status).toBe(200)
    // That is what a browser sends after a redirect to another origin.
    const download = await fetch(location, { headers: { origin: 'null', 'x-api-key': 'k' } })
    expect(download.headers.get('access-control-allow-origin')).toBe('*')
    expect(download.headers.get('access-control-expose-headers')).toContain('content-disposition')
    expect(await download.arrayBuffer()).toHaveProperty('byteLength', size)
  })
})

describe('with origins that the stack was told', () => {
  const event = (method: string, origin: string) =>
    proxyEvent({ method, path: FILES, body: null, headers: { origin, 'access-control-request-method': 'POST' } })

  it('their pages may read, and no others', async () => {
    const handler = createHandler({ ...engines, corsOrigins: [PAGE, 'http://localhost:3000'] })
    for (const method of ['OPTIONS', 'GET']) {
      for (const origin of [PAGE, 'http://localhost:3000']) {
        const { headers } = await callHandler(handler, event(method, origin))
        expect(headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' })
      }
      for (const origin of ['https://evil.example', 'null', `${PAGE}.evil.example`, 'https://app.example:8443']) {
        const { headers } = await callHandler(handler, event(method, origin))
        expect(headers).toMatchObject({ vary: 'Origin' })
        expect(headers).not.toHaveProperty('access-control-allow-origin')
      }
    }
  })

  it('a strange list of headers is not allowed', async () => {
    const handler = createHandler({ ...engines, corsOrigins: ['*'] })
    const strange = event('OPTIONS', PAGE)
    strange.multiValueHeaders['access-control-request-headers'] = ['x\u00e9(']
    expect((await callHandler(handler, strange)).headers).not.toHaveProperty('access-control-allow-headers')
  })

  it('of none no header is sent, and OPTIONS is no method', async () => {
    const handler = createHandler({ ...engines })
    const { headers } = await callHandler(handler, event('GET', PAGE))
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(await callHandler(handler, event('OPTIONS', PAGE))).toMatchObject({ status: 405 })
  })
})
