import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { SandboxFileError, type SandboxFilesOptions, type SandkeepAIEnv, sandboxFiles } from '../../client/ai/index.ts'
import { type FilesDeployment, startFilesDeployment } from './support/files-deployment.ts'

const MIB = 1_048_576
let deployment: FilesDeployment

beforeAll(async () => {
  deployment = await startFilesDeployment()
})
afterAll(() => deployment.stop())
beforeEach(() => {
  for (const list of [deployment.seen, deployment.stored, deployment.failures]) list.length = 0
})

const environment = (): SandkeepAIEnv => ({
  SANDBOX_GATEWAY_URL: `${deployment.url}/`,
  SANDBOX_TENANT: 'acme',
  SANDBOX_PROJECT: 'web',
  SANDBOX_API_KEY: 'key_1',
})
const client = (options: SandboxFilesOptions = {}, env: SandkeepAIEnv = {}) =>
  sandboxFiles({ ...environment(), ...env }, options)
const blob = (size: number, type = 'text/csv') => new Blob([new Uint8Array(size).fill(7)], { type })
const paths = () => deployment.seen.map(({ method, path }) => `${method} ${path.replace('/api/sandbox/files/v1', '')}`)
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('It should have failed.'),
    (error: unknown) => error,
  )

/** As much of the browser's class as the client may use, over `fetch`. */
class FakeXhr {
  readonly upload: { onprogress?: (event: { loaded: number; total: number }) => void } = {}
  onload?: () => void
  onerror?: () => void
  status = 0
  responseText = ''
  #answered = new Headers()
  #open: [string, string] = ['', '']
  readonly #headers = new Headers()

  open(method: string, url: string): void {
    this.#open = [method, url]
  }

  setRequestHeader(name: string, value: string): void {
    this.#headers.append(name, value)
  }

  getAllResponseHeaders(): string {
    return [...this.#answered].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  }

  abort(): void {
    this.onerror?.()
  }

  async send(body: FormData): Promise<void> {
    const [method, url] = this.#open
    this.upload.onprogress?.({ loaded: 2, total: 300 })
    const response = await fetch(url, { method, headers: this.#headers, body })
    this.upload.onprogress?.({ loaded: 300, total: 300 })
    this.status = response.status
    this.responseText = await response.text()
    this.#answered = response.headers
    this.onload?.()
  }
}

describe('who calls', () => {
  const sentHeaders = async (options: SandboxFilesOptions, env: SandkeepAIEnv = {}) => {
    await client(options, env).get('file_1')
    const { authorization, 'x-api-key': key, 'x-sandbox-user-id': user } = deployment.seen.at(-1)?.headers ?? {}
    return { authorization, key, user }
  }

  test('an API key alone', async () => {
    expect(await sentHeaders({})).toEqual({ authorization: undefined, key: 'key_1', user: undefined })
    expect(deployment.seen[0]?.headers).toMatchObject({
      'x-sandbox-tenant-id': 'acme',
      'x-sandbox-project-id': 'web',
    })
  })

  test('the token that is given comes before that of the owner', async () => {
    const env = { APP_OWNER_JWT: 'owner' }
    expect(await sentHeaders({}, env)).toMatchObject({ authorization: 'Bearer owner' })
    expect(await sentHeaders({ authToken: 'caller' }, env)).toMatchObject({ authorization: 'Bearer caller' })
    expect(await sentHeaders({ authToken: 'caller' }, { SANDBOX_API_KEY: undefined })).toMatchObject({ key: undefined })
  })

  test('a user that the key acts for', async () => {
    expect(await sentHeaders({ userId: 'u 1' })).toMatchObject({ user: 'u 1' })
  })

  test.each<[string, SandboxFilesOptions, SandkeepAIEnv]>([
    ['authToken', { authToken: '' }, { APP_OWNER_JWT: 'owner' }],
    ['authToken', { authToken: 'Bearer x' }, {}],
    ['authToken', {}, { SANDBOX_API_KEY: '' }],
    ['userId', { userId: ' ' }, {}],
    ['scope', { scope: 'everybody' as 'app' }, {}],
    ['SANDBOX_GATEWAY_URL', {}, { SANDBOX_GATEWAY_URL: undefined }],
    ['SANDBOX_GATEWAY_URL', {}, { SANDBOX_GATEWAY_URL: 'ftp://x' }],
    ['SANDBOX_TENANT', {}, { SANDBOX_TENANT: '' }],
    ['X-Sandbox-Project-Id', {}, { SANDBOX_PROJECT: 'a/b' }],
  ])('names what is wrong: %s %j %j', (field, options, env) => {
    const make = () => client(options, env)
    expect(make).toThrow(SandboxFileError)
    expect(make).toThrow(expect.objectContaining({ name: 'SandboxFileError', status: 400, field }))
  })
})

describe('upload', () => {
  test('of a small file is one form', async () => {
    const file = await client({ scope: 'app' }).upload(new File(['a,b'], 'in/put “1”.csv', { type: 'text/csv' }), {
      expiresInSeconds: 3_600,
    })
    expect(paths()).toEqual(['POST '])
    expect(file).toMatchObject({
      filename: 'put “1”.csv',
      mime_type: 'text/csv',
      size_bytes: 3,
      scope: 'app',
      expires_in_seconds: '3600',
    })
  })

  test('says nothing that it was not told', async () => {
    const file = await client().upload(blob(0, ''), { filename: 'empty' })
    expect(Object.keys(file).sort()).toEqual(
      ['type', 'id', 'created_at', 'scope', 'filename', 'mime_type', 'size_bytes', 'sha256'].sort(),
    )
    expect(file).toMatchObject({ scope: 'user', mime_type: 'application/octet-stream', size_bytes: 0 })
  })

  test('of a larger file goes to the storage, without our headers', async () => {
    const content = blob(5 * MIB)
    const file = await client().upload(content, { filename: 'big.csv', origin: 'sandbox' })
    expect(paths()).toEqual(['POST /uploads', 'POST /uploads/up%201/complete'])
    const [put] = deployment.stored
    expect(put).toMatchObject({ method: 'PUT', path: '/key' })
    expect(put?.headers).toMatchObject({ 'content-length': String(5 * MIB), 'content-type': 'text/csv' })
    expect(Object.keys(put?.headers ?? {}).filter((name) => /sandbox|api-key|authorization/.test(name))).toEqual([])
    expect(file).toMatchObject({
      filename: 'big.csv',
      size_bytes: 5 * MIB,
      sha256: createHash('sha256')
        .update(put?.bytes ?? '')
        .digest('hex'),
      scope: 'user',
      origin: 'sandbox',
    })
  })

  test('of a file with a quote in its name goes where names stay as they are', async () => {
    const file = await client().upload(blob(3), { filename: 'a "b" %22.csv' })
    expect(file.filename).toBe('a "b" %22.csv')
    expect(paths()[0]).toBe('POST /uploads')
  })

  test.each([0, 3, 200_000, 5 * MIB])('tells the progress of %i bytes', async (size) => {
    const told: number[] = []
    await client().upload(blob(size), {
      filename: 'x',
      onProgress: ({ loaded, total }) => {
        expect(total).toBe(size)
        told.push(loaded)
      },
    })
    expect(told[0]).toBe(0)
    expect(told.at(-1)).toBe(size)
    expect(told).toEqual(told.toSorted((a, b) => a - b))
    if (size > MIB) expect(new Set(told).size).toBeGreaterThan(10)
    const sent = size > MIB ? deployment.stored : deployment.seen
    expect(sent[0]?.headers['content-length']).toBeDefined()
  })

  test('tells the progress of XMLHttpRequest where there is one', async () => {
    vi.stubGlobal('XMLHttpRequest', FakeXhr)
    try {
      const told: number[] = []
      const onProgress = ({ loaded }: { loaded: number }) => told.push(loaded)
      const file = await client().upload(blob(5), { filename: 'x', onProgress })
      expect(file).toMatchObject({ size_bytes: 5, mime_type: 'text/csv' })
      // A form is longer than the file in it.
      expect(told).toEqual([0, 2, 5, 5])
      expect(deployment.seen[0]?.headers['x-api-key']).toBe('key_1')
      deployment.failures.push({ status: 413 })
      expect(await failure(client().upload(blob(5), { filename: 'x', onProgress }))).toMatchObject({ status: 413 })
      const fetches = client({ fetch: (input, init) => fetch(input, init) })
      told.length = 0
      await fetches.upload(blob(5), { filename: 'x', onProgress })
      expect(told).not.toContain(2)
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test('of 32 MiB is taken, one byte more is not', async () => {
    await client().upload(blob(32 * MIB), { filename: 'x' })
    expect(deployment.stored).toHaveLength(1)
    deployment.seen.length = 0
    expect(await failure(client().upload(blob(32 * MIB + 1), { filename: 'x' }))).toMatchObject({ status: 413 })
    expect(deployment.seen).toEqual([])
  })

  test.each<[string, unknown, object]>([
    ['file', 'text', { filename: 'x' }],
    ['file', undefined, { filename: 'x' }],
    ['filename', blob(1), {}],
    ['filename', blob(1), { filename: '' }],
    ['filename', blob(1), { filename: 'a/' }],
    ['filename', blob(1), { filename: '..' }],
    ['filename', blob(1), { filename: 'a\u0085b' }],
    ['filename', blob(1), { filename: 'a\ud800' }],
    ['filename', blob(1), { filename: 'é'.repeat(256) }],
    ['expiresInSeconds', blob(1), { filename: 'x', expiresInSeconds: 3_599 }],
    ['expiresInSeconds', blob(1), { filename: 'x', expiresInSeconds: 7_776_001 }],
    ['expiresInSeconds', blob(1), { filename: 'x', expiresInSeconds: 4_000.5 }],
    ['expiresInSeconds', blob(1), { filename: 'x', expiresInSeconds: Number.NaN }],
    ['origin', blob(1), { filename: 'x', origin: 'user' }],
  ])('is refused before any request: %s', async (field, file, options) => {
    const error = await failure(client().upload(file as Blob, options))
    expect(error).toBeInstanceOf(SandboxFileError)
    expect(error).toMatchObject({ status: 400, field })
    expect(deployment.seen).toEqual([])
  })

  test('is not sent twice where it would make two files', async () => {
    deployment.failures.push({ status: 503 })
    expect(await failure(client().upload(blob(3), { filename: 'x' }))).toMatchObject({ status: 503 })
    expect(paths()).toEqual(['POST '])
  })
})

describe('the other calls', () => {
  test('get, list and delete', async () => {
    const files = client()
    expect(await files.get('file 1?')).toMatchObject({ filename: 'file 1?' })
    expect(await files.list()).toEqual({ data: [expect.objectContaining({ type: 'file' })], next_page: null })
    await files.list({ limit: 100, page: 'a&b' })
    expect(await files.delete('file_1')).toBeUndefined()
    expect(paths()).toEqual(['GET /file%201%3F', 'GET ', 'GET ?limit=100&page=a%26b', 'DELETE /file_1'])
  })

  test('a download streams, with its type and its name', async () => {
    const response = await client().download('file_1')
    expect([
      response.status,
      response.headers.get('content-type'),
      response.headers.get('content-disposition'),
    ]).toEqual([200, 'text/csv', 'attachment; filename="a.csv"'])
    expect(await response.text()).toBe('a,b')
  })

  test('a large download comes from the storage, which does not get the key', async () => {
    const response = await client({ authToken: 't' }).download('big')
    expect(await response.text()).toBe('from the storage')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="big.bin"')
    expect(deployment.stored[0]?.path).toBe('/big?sign=1')
    const names = Object.keys(deployment.stored[0]?.headers ?? {})
    expect(names.filter((name) => /sandbox|api-key|authorization/.test(name))).toEqual([])
  })

  test.each([0, 101, 1.5, Number.NaN, '5' as unknown as number])(
    'a limit of %j is refused before any request',
    async (limit) => {
      expect(await failure(client().list({ limit }))).toMatchObject({ status: 400, field: 'limit' })
      expect(deployment.seen).toEqual([])
    },
  )

  test.each(['', '.', '..', '\ud800', undefined as unknown as string])(
    'an id of %j is refused before any request',
    async (id) => {
      const files = client()
      for (const call of [files.get, files.download, files.delete]) {
        expect(await failure(call(id))).toMatchObject({ status: 400, field: 'fileId' })
      }
      expect(deployment.seen).toEqual([])
    },
  )
})

describe('failures', () => {
  test('a refusal is a SandboxFileError with its status, code and request', async () => {
    const body = JSON.stringify({ error: { code: 'not_found', message: 'Not found.' } })
    deployment.failures.push({ status: 404, body, headers: { 'x-request-id': 'r1' } })
    const error = await failure(client().get('file_1'))
    expect(error).toBeInstanceOf(SandboxFileError)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'SandboxFileError',
      status: 404,
      code: 'not_found',
      message: 'Not found.',
      requestId: 'r1',
    })
  })

  test('what passes is asked again', async () => {
    deployment.failures.push({ status: 503 }, { status: 0 })
    expect(await client().get('a')).toMatchObject({ filename: 'a' })
    expect(paths()).toHaveLength(3)
  })

  test('a delete whose answer was lost is not repeated', async () => {
    deployment.failures.push({ status: 0 })
    expect(await failure(client().delete('a'))).toMatchObject({ status: 503, code: 'network_error' })
    expect(paths()).toEqual(['DELETE /a'])
  })

  test('no answer is one too', async () => {
    const files = client({}, { SANDBOX_GATEWAY_URL: 'http://127.0.0.1:1' })
    const error = await failure(files.delete('a'))
    expect(error).toBeInstanceOf(SandboxFileError)
    expect(error).toMatchObject({ status: 503, code: 'network_error' })
  })

  test('an answer that is not of the API', async () => {
    deployment.failures.push({ status: 200, body: '<html>' })
    expect(await failure(client().get('a'))).toMatchObject({ status: 502, code: 'invalid_answer' })
  })

  test('ends with the reason of the signal', async () => {
    const reason = new Error('stop')
    expect(await failure(client({ signal: AbortSignal.abort(reason) }).get('a'))).toBe(reason)
  })
})
