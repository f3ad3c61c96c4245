import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { spawnCommand } from './support/spawn.ts'
import { makeTree, temporaryFolder } from './support/tree.ts'

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

test('a container has the workspace, and signals reach it', { timeout: 120_000 }, async () => {
  // Stands for an engine: runs the command in the folder that it is given.
  const engine = `#!/bin/sh
echo "$@" >> "$BASE/calls"
[ "$1" = run ] || exit 0
while [ "$1" != the-image ]; do
  case "$1" in --mount=*) cd "$(echo "$1" | sed 's/.*source=\\(.*\\),target.*/\\1/')" ;; esac
  shift
done
shift
exec "$@"
`
  makeTree(base, { 'bin/docker': { text: engine, mode: 0o755 } })
  const env = { PATH: `${join(base, 'bin')}:${process.env.PATH}` }
  expect((await run(['--image', 'the-image', '--', 'sh', '-c', 'echo a > a; exit 4'], env)).code).toBe(4)
  expect(await run(['--image', 'the-image', '--', 'cat', 'a'], env)).toMatchObject({ code: 0, stdout: 'a\n' })
  expect(readFileSync(join(base, 'calls'), 'utf8')).toMatch(/^run --rm --init --interactive --name=sandkeep-\S+ /)

  const stubborn = 'trap "" TERM; while :; do sleep 0.05; done'
  const killed = await run(['--timeout', '1s', '--image', 'the-image', '--', 'sh', '-c', stubborn], env)
  expect(killed.code).toBe(137)
  expect(readFileSync(join(base, 'calls'), 'utf8')).toMatch(/^kill sandkeep-\S+$/m)

  const none = await run(['--image', 'the-image', '--', 'true'], { PATH: join(base, 'home') })
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('--image needs docker or podman on the PATH') })
  expect(await turnOf(4)).toBeNull()
})
