import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { eachInWorld, type RunWorld } from './support/run-world.ts'
import { makeTree } from './support/tree.ts'

/**
 * Stands for an engine: notes how it is called, and runs the command in the folder that is mounted, in a process that is
 * no part of the client's group, as a container is none. The client passes signals on, as those of engines do.
 */
const ENGINE = `#!/usr/bin/env node
const { spawn } = require('node:child_process')
const { appendFileSync, readFileSync, writeFileSync } = require('node:fs')
const { constants } = require('node:os')
const { BASE, PATH } = process.env
const args = process.argv.slice(2)
appendFileSync(BASE + '/calls', JSON.stringify(args) + '\\n')
if (args[0] === 'kill') return process.kill(Number(readFileSync(BASE + '/pid', 'utf8')), 'SIGKILL')
const values = (name) => args.flatMap((arg) => (arg.startsWith('--' + name + '=') ? [arg.slice(name.length + 3)] : []))
const env = Object.fromEntries(values('env').map((pair) => pair.split('=')))
const [, cwd] = /source=([^,]*)/.exec(values('mount')[0])
const [program, ...rest] = args.slice(args.indexOf('the-image') + 1)
const container = spawn(program, rest, { cwd, env: { BASE, PATH, ...env }, detached: true, stdio: 'inherit' })
writeFileSync(BASE + '/pid', String(container.pid))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => container.kill(signal))
container.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
`

let world: RunWorld
eachInWorld((made) => {
  world = made
})
beforeEach(() => {
  makeTree(world.base, { 'bin/docker': { text: ENGINE, mode: 0o755 } })
})

const run = (script: string, args: string[] = []) =>
  world.run(script, ['--image', 'the-image', ...args], {
    env: { BASE: world.base, PATH: `${world.path('bin')}:${dirname(process.execPath)}:/usr/bin:/bin` },
  })
const calls = (): string[][] =>
  readFileSync(world.path('calls'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
const ready = () => expect.poll(() => existsSync(world.path('ready')), { timeout: 30_000 }).toBe(true)
const turnOf = (turn: number) => world.client.memory.getTurn({ taskId: 't', turn })
/** The name of the container of the only run. */
async function nameOfContainer(): Promise<string> {
  return `sandkeep-${(await turnOf(1))?.meta.sandbox_id}`
}
/** A command that counts in a file until it is ended. */
const COUNTS = 'n=0; while :; do n=$((n+1)); echo $n > n; [ $n = 3 ] && echo > "$BASE/ready"; sleep 0.01; done'

test('a container has the workspace, and its exit code and output are those of the command', async () => {
  const first = await run('echo a > a; echo "$SANDBOX_TASK_ID $SANDBOX_ID $SANDBOX_SUMMARY_FILE"; exit 4')
  const { sandbox_id: id } = (await turnOf(1))?.meta ?? {}
  expect(first).toMatchObject({ code: 4, stdout: `t ${id} /workspace/.sandkeep/summary.md\n` })
  const [user, group] = [process.getuid?.(), process.getgid?.()]
  expect(calls()).toEqual([
    [
      ...['run', '--rm', '--init', '--interactive', `--name=sandkeep-${id}`],
      ...(user === 0 ? [] : [`--user=${user}:${group}`]),
      expect.stringMatching(/^--mount=type=bind,source=\/[^,]*\/sandkeep-run-\w+\/workspace,target=\/workspace$/),
      ...['--workdir=/workspace', '--env=SANDBOX_TASK_ID=t', `--env=SANDBOX_ID=${id}`],
      ...['--env=SANDBOX_SUMMARY_FILE=/workspace/.sandkeep/summary.md', 'the-image', 'sh', '-c'],
      'echo a > a; echo "$SANDBOX_TASK_ID $SANDBOX_ID $SANDBOX_SUMMARY_FILE"; exit 4',
    ],
    ['kill', `sandkeep-${id}`],
  ])
  expect(await run('cat a')).toMatchObject({ code: 0, stdout: 'a\n' })
})

test('a signal reaches the command in the container', async () => {
  const running = run(`trap 'echo told > told; exit 9' INT; ${COUNTS}`)
  await ready()
  world.signal('SIGINT')
  expect((await running).code).toBe(9)
  expect((await run('cat told')).stdout).toBe('told\n')
})

test('the time-out ends the container', async () => {
  const running = run(COUNTS, ['--timeout', '30m'])
  await ready()
  world.timers.fire(1_800_000)
  expect((await running).code).toBe(143)
  expect((await turnOf(1))?.meta).toMatchObject({ exit_code: 143, timed_out: true })
})

test.each(['a time-out', 'the death of the client'])(
  'a container that goes on after %s is ended before the work is saved',
  async (why) => {
    const running = run(`trap 'echo > "$BASE/asked"' TERM; echo $PPID > "$BASE/client"; ${COUNTS}`, [
      ...['--timeout', '30m', '--dir', 'w'],
    ])
    await ready()
    if (why === 'a time-out') {
      world.timers.fire(1_800_000)
      await expect.poll(() => existsSync(world.path('asked')), { timeout: 30_000 }).toBe(true)
      world.timers.fire(10_000)
    } else process.kill(Number(readFileSync(world.path('client'), 'utf8')), 'SIGKILL')
    expect((await running).code).toBe(137)
    expect(calls().slice(1)).toEqual([['kill', await nameOfContainer()]])
    // It counts no more: what is saved is what there was in the end.
    const counted = readFileSync(world.path('w/n'), 'utf8')
    await world.run('true', ['--dir', 'next'])
    expect(readFileSync(world.path('next/n'), 'utf8')).toBe(counted)
  },
)

test('the exit code of an engine that starts nothing is explained', async () => {
  expect((await run('exit 125')).stderr).toContain('the container engine could not start the container')
  expect((await run('exit 124')).stderr).not.toContain('engine')
})

test('without an engine there is no run', async () => {
  const none = await world.run('true', ['--image', 'the-image'], { env: { PATH: world.path('home') } })
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('--image needs docker or podman on the PATH') })
  expect((await world.client.sandboxes.list()).sandboxes).toEqual([])
})
