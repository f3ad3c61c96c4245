import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { spawnCommand } from './support/spawn.ts'
import { temporaryFolder } from './support/tree.ts'

const MAIN = join(import.meta.dirname, '../../cli/main.ts')
let stack: LocalStack
let client: SandkeepClient
let base: string
let project = 0
beforeAll(async () => {
  stack = await startLocalStack()
})
afterAll(() => stack.stop())
beforeEach(() => {
  base = temporaryFolder()
  mkdirSync(join(base, 'tmp'))
  project += 1
  client = createClient({ url: stack.url, apiKey: stack.apiKey, tenant: 'acme', project: `p${project}` })
  return () => rmSync(base, { recursive: true, force: true })
})

const environment = () => ({
  PATH: process.env.PATH ?? '',
  HOME: join(base, 'home'),
  TMPDIR: join(base, 'tmp'),
  BASE: base,
  SANDBOX_GATEWAY_URL: stack.url,
  SANDBOX_API_KEY: stack.apiKey,
  SANDBOX_TENANT: 'acme',
  SANDBOX_PROJECT: `p${project}`,
})
const run = (args: string[], env: Record<string, string> = {}) =>
  spawnCommand(['run', '--task', 't', ...args], { cwd: base, env: { ...environment(), ...env } })
const turnOf = (turn: number) => client.memory.getTurn({ taskId: 't', turn })

test('signals of the system go to the command, and the work is saved', { timeout: 120_000 }, async () => {
  const script = 'trap "echo told > told; exit 9" INT; echo > "$BASE/ready"; while :; do sleep 0.02; done'
  const signalWhenReady = async (child: ChildProcess) => {
    await expect.poll(() => existsSync(join(base, 'ready')), { timeout: 60_000 }).toBe(true)
    child.kill('SIGINT')
  }
  const running = spawnCommand(['run', '--task', 't', '--', 'sh', '-c', script], {
    cwd: base,
    env: environment(),
    onStart: (child) => void signalWhenReady(child),
  })
  expect(await running).toMatchObject({ code: 9, signal: null })
  expect((await turnOf(1))?.meta.exit_code).toBe(9)
  expect(await run(['--', 'cat', 'told'])).toMatchObject({ code: 0, stdout: 'told\n' })
})

test('a reader that stops early ends the command, not the saving', { timeout: 120_000 }, async () => {
  const command = `"${process.execPath}" "${MAIN}" run --task t -- sh -c 'echo a > a; yes' | head -1; exit "\${PIPESTATUS[0]}"`
  const child = spawn('bash', ['-c', command], {
    cwd: base,
    env: environment(),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  // By SIGPIPE, or by the error that a write meets.
  expect([141, 1]).toContain(code)
  expect((await turnOf(1))?.meta.exit_code).toBe(code)
  expect(await run(['--', 'cat', 'a'])).toMatchObject({ code: 0, stdout: 'a\n' })
})

test('a reader that stops after all is saved does not change the exit code', { timeout: 120_000 }, async () => {
  // As much as the pipe does not take.
  const command = `"${process.execPath}" "${MAIN}" run --task t -- sh -c 'seq 1 25000; exit 3' | { until [ -e saved ]; do sleep 0.05; done; head -1; }; exit "\${PIPESTATUS[0]}"`
  const child = spawn('bash', ['-c', command], { cwd: base, env: environment(), stdio: 'ignore' })
  const ended = new Promise((resolve) => child.on('close', resolve))
  const isDestroyed = async () => (await client.sandboxes.list()).sandboxes[0]?.status === 'destroyed'
  await expect
    .poll(async () => (await isDestroyed()) && readdirSync(join(base, 'tmp')), { timeout: 60_000 })
    .toEqual([])
  writeFileSync(join(base, 'saved'), '')
  expect(await ended).toBe(3)
  expect((await turnOf(1))?.artifacts).toHaveLength(2)
})

test("the input is the command's", { timeout: 120_000 }, async () => {
  const command = `echo hello | "${process.execPath}" "${MAIN}" run --task t -- cat`
  const child = spawn('bash', ['-c', command], { cwd: base, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (text) => {
    out += text
  })
  await new Promise((resolve) => child.on('close', resolve))
  expect(out).toBe('hello\n')
})

test('what the command makes unreadable keeps nothing from being saved', { timeout: 120_000 }, async () => {
  for (const name of ['home', 'work']) mkdirSync(join(base, name))
  for (const name of ['.', 'home', 'work', 'tmp']) chmodSync(join(base, name), 0o777)
  for (const [turn, left] of ['.sandkeep/summary.md', '.sandkeep'].entries()) {
    const script = `echo a > a; echo x > .sandkeep/summary.md; chmod 0 ${left}`
    const outcome = await spawnCommand(['run', '--task', 't', '--', 'sh', '-c', script], {
      cwd: join(base, 'work'),
      env: environment(),
      unprivileged: true,
    })
    expect(outcome).toMatchObject({ code: 0, stdout: '' })
    // Nobody can look into that folder, so nobody can remove it.
    expect(outcome.stderr.includes('could not be removed, and is not needed any more')).toBe(left === '.sandkeep')
    expect(await turnOf(turn + 1)).toMatchObject({ summaryMd: '', artifacts: [{}, {}] })
  }
  expect((await run(['--', 'cat', 'a'])).stdout).toBe('a\n')
})
