import { existsSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'esbuild'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'

const CHROMIUM = [
  process.env.CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
const executablePath = CHROMIUM.find((path) => path !== '' && existsSync(path))

let stack: LocalStack
let browser: Browser
let pages: Server
let page: Page

beforeAll(async () => {
  if (executablePath === undefined) return
  const { outputFiles } = await build({
    entryPoints: [new URL('../../client/ai/files.ts', import.meta.url).pathname],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
  })
  const script = outputFiles[0]?.text ?? ''
  // An origin of its own, as the pages of an application have.
  pages = createServer((request, response) => {
    const isScript = request.url === '/files.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : '<!doctype html><title>x</title>')
  }).listen(0, '127.0.0.1')
  stack = await startLocalStack()
  browser = await puppeteer.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`)
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await stack?.stop()
  pages?.close()
})

/** Runs in the page, with a client of the files of an app that nothing has used yet. */
function inPage<T>(project: string, body: string): Promise<T> {
  const env = {
    SANDBOX_GATEWAY_URL: stack.url,
    SANDBOX_TENANT: 'acme',
    SANDBOX_PROJECT: project,
    SANDBOX_API_KEY: stack.apiKey,
  }
  return page.evaluate(`(async () => {
    const { sandboxFiles } = await import('/files.js')
    const files = sandboxFiles(${JSON.stringify(env)})
    ${body}
  })()`) as Promise<T>
}

test.runIf(executablePath)('a page uploads with progress, lists, reads and deletes', { timeout: 180_000 }, async () => {
  const result = await inPage<Record<string, unknown>>(
    'pages',
    `
    const told = []
    const content = new Uint8Array(12_000_000).map((_zero, index) => index % 251)
    const options = { origin: 'sandbox', onProgress: ({ loaded, total }) => told.push([loaded, total]) }
    const large = await files.upload(new File([content], 'größe “1” 報告.bin', { type: 'application/x-big' }), options)
    const small = await files.upload(new Blob(['a,b'], { type: 'text/csv' }), { ...options, filename: 'a "b" %22.csv' })
    const listed = await files.list()
    const response = await files.download(large.id)
    const bytes = new Uint8Array(await response.arrayBuffer())
    const text = await (await files.download(small.id)).text()
    await files.delete(small.id)
    const after = await files.get(small.id).catch(({ name, status }) => ({ name, status }))
    return {
      large,
      small: small.filename,
      listed: listed.data.map(({ id }) => id === large.id ? 'large' : 'small'),
      same: bytes.length === content.length && bytes.every((byte, index) => byte === content[index]),
      type: response.headers.get('content-type'),
      disposition: response.headers.get('content-disposition'),
      text,
      after,
      first: told[0],
      last: told.at(-1),
      steps: told.filter(([, total]) => total === content.length).length,
    }`,
  )
  expect(result).toMatchObject({
    large: { filename: 'größe “1” 報告.bin', size_bytes: 12_000_000, mime_type: 'application/x-big' },
    small: 'a "b" %22.csv',
    listed: ['small', 'large'],
    same: true,
    type: 'application/x-big',
    disposition: expect.stringContaining("filename*=UTF-8''"),
    text: 'a,b',
    after: { name: 'SandboxFileError', status: 404 },
    first: [0, 12_000_000],
    last: [3, 3],
  })
  expect(result.steps).toBeGreaterThan(2)
})

test.runIf(executablePath)('a page is refused before any request', async () => {
  const refused = await inPage<unknown>(
    'refusals',
    `
    const attempt = (work) => work().catch(({ name, status }) => [name, status])
    return [
      await attempt(() => files.upload(new Blob([new Uint8Array(33_554_433)]), { filename: 'x' })),
      await attempt(() => files.upload(new Blob(['x']))),
      await attempt(() => files.list({ limit: 0 })),
    ]`,
  )
  expect(refused).toEqual([
    ['SandboxFileError', 413],
    ['SandboxFileError', 400],
    ['SandboxFileError', 400],
  ])
})
