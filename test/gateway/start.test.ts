import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const script = path.resolve(import.meta.dirname, '../../local/start.ts')
const children: ChildProcess[] = []
let dir: string

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'sandkeep-start-'))
})

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await rm(dir, { recursive: true, force: true })
})

/** A run of `npm start`, whose output is collected. */
function run(...flags: string[]) {
  const child = spawn(process.execPath, [script, ...flags])
  children.push(child)
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output.err += text
  })
  const ended = once(child, 'close').then(([code]) => ({ code, ...output }))
  const told = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => output.out.includes('sandkeep pull') && resolve(output.out))
    ended.then(({ err }) => reject(new Error(err)), reject)
  })
  // Runs that are meant to fail are not asked what they told.
  told.catch(() => undefined)
  return { child, ended, told }
}

test.for(['SIGINT', 'SIGTERM'] as const)('it tells how to go on, and ends cleanly on %s', async (signal) => {
  const { child, ended, told } = run('--port', '0', '--dir', dir)
  const text = await told
  const url = /^ {2}export SANDBOX_GATEWAY_URL=(\S+)$/m.exec(text)?.[1]
  const key = /^ {2}export SANDBOX_API_KEY=(\S+)$/m.exec(text)?.[1]
  expect(text.match(/^ {2}npx sandkeep \w+/gm)).toEqual([
    '  npx sandkeep push',
    '  npx sandkeep log',
    '  npx sandkeep pull',
    '  npx sandkeep run',
    '  npx sandkeep memory',
  ])
  const headers = { 'x-api-key': key ?? '', 'x-sandbox-tenant-id': 'acme', 'x-sandbox-project-id': 'demo' }
  expect((await fetch(`${url}/sandbox/keys/v1`, { headers })).status).toBe(200)
  child.kill(signal)
  expect(await ended).toMatchObject({ code: 0, err: '' })
})

test('a port in use is one clear line', async () => {
  const blocker = net.createServer().listen(0, '127.0.0.1')
  await once(blocker, 'listening')
  const { port } = blocker.address() as AddressInfo
  const { code, err } = await run('--port', String(port), '--dir', dir).ended
  blocker.close()
  expect({ code, err }).toEqual({ code: 1, err: `Port ${port} is in use. Choose another one with --port.\n` })
})

test('a folder in use is one clear line', async () => {
  const first = run('--port', '0', '--dir', dir)
  await first.told
  const { code, err } = await run('--port', '0', '--dir', dir).ended
  expect(code).toBe(1)
  expect(err).toMatch(/^The folder \S+ is served by process \d+.*\n$/)
})

test.for([['--port', 'x'], ['--port', '70000'], ['--nothing']])('bad flags are named: %j', async (flags) => {
  const { code, err } = await run(...flags).ended
  expect(code).toBe(2)
  expect(err).toContain(flags[0])
  expect(err).toContain('Usage:')
})
