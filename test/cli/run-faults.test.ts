import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { startCommand } from '../../cli/run/command.ts'
import { OutputLog } from '../../cli/run/output-log.ts'
import * as workspaceFolder from '../../cli/run/workspace-folder.ts'
import { eachInWorld, ManualTimers, type RunWorld } from './support/run-world.ts'
import { temporaryFolder } from './support/tree.ts'

vi.mock('../../cli/run/workspace-folder.ts', { spy: true })

let world: RunWorld
eachInWorld((made) => {
  world = made
})
beforeEach(() => {
  return () => {
    vi.restoreAllMocks()
  }
})

const turnOf = (turn: number) => world.client.memory.getTurn({ taskId: 't', turn })

test("a signal that comes while the command is being started is the command's", async () => {
  const create = OutputLog.create.bind(OutputLog)
  vi.spyOn(OutputLog, 'create').mockImplementation(async (...args) => {
    world.signal('SIGTERM')
    return create(...args)
  })
  expect((await world.run('sleep 300')).code).toBe(143)
  expect((await turnOf(1))?.meta).toMatchObject({ exit_code: 143, snapshot_seq: 1 })
})

describe('a folder that cannot be removed', () => {
  beforeEach(() => {
    const { makePlaces } = workspaceFolder
    vi.mocked(makePlaces).mockImplementationOnce(async (...args) => {
      const places = await makePlaces(...args)
      const refuse = () => Promise.reject(new Error('no such luck'))
      return { ...places, removeOwn: refuse, clear: refuse }
    })
  })

  test('is told, when all is saved, and is no failure', async () => {
    const outcome = await world.run('echo a > a; exit 3')
    expect(outcome).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        /saved 1 file, 2 B\nsandkeep: \S+ could not be removed, and is not needed any more\n$/,
      ),
    })
    expect((await turnOf(1))?.artifacts).toHaveLength(2)
  })

  test('does not hide why the command was not run', async () => {
    const outcome = await world.command(['run', '--task', 't', '--', 'missing-program'])
    expect(outcome).toMatchObject({ code: 127, stderr: expect.stringContaining('no such command') })
    expect((await world.client.sandboxes.list()).sandboxes).toMatchObject([{ status: 'destroyed' }])
  })
})

describe('a reader that reads no more', () => {
  const start = async (script: string, timers: ManualTimers) => {
    const base = temporaryFolder()
    const log = await OutputLog.create(join(base, 'log'))
    const stuck = Promise.withResolvers<void>()
    const never = () => new Writable({ write: () => stuck.resolve() })
    const command = await startCommand({
      ...{ program: 'sh', args: ['-c', script], cwd: base, env: process.env, log, timers },
      ...{ stdout: never(), stderr: never(), timeoutMs: 60_000 },
      onLogError: () => undefined,
      secrets: [],
      killOthers: async () => undefined,
    })
    const logged = async () => {
      await log.close()
      const text = readFileSync(join(base, 'log'), 'utf8')
      rmSync(base, { recursive: true })
      return text
    }
    return { command, logged, stuck: stuck.promise }
  }

  test('does not keep a command that has ended from being over', async () => {
    const { command, logged } = await start('echo out; exit 3', new ManualTimers())
    expect(await command.ended).toEqual({ exitCode: 3, timedOut: false })
    expect(await logged()).toBe('out\n')
  })

  test('holds a command up only until its time is over', async () => {
    const timers = new ManualTimers()
    const { command, logged, stuck } = await start('yes', timers)
    await stuck
    timers.fire(60_000)
    expect(await command.ended).toEqual({ exitCode: 143, timedOut: true })
    expect((await logged()).slice(0, 4)).toBe('y\ny\n')
  })
})

test('a reader that is slow misses nothing, and the log does not wait for it', async () => {
  const base = temporaryFolder()
  const log = await OutputLog.create(join(base, 'log'))
  const read: Buffer[] = []
  const slow = new Writable({
    write(chunk: Buffer, _encoding, done) {
      read.push(chunk)
      setTimeout(done, 700)
    },
  })
  const command = await startCommand({
    ...{ program: 'seq', args: ['1', '40000'], cwd: base, env: process.env, log, timers: new ManualTimers() },
    ...{ stdout: slow, stderr: slow, timeoutMs: undefined },
    onLogError: () => undefined,
    secrets: [],
    killOthers: async () => undefined,
  })
  expect(await command.ended).toEqual({ exitCode: 0, timedOut: false })
  await log.close()
  const logged = readFileSync(join(base, 'log'), 'utf8')
  expect(logged.split('\n').at(-2)).toBe('40000')
  await new Promise<void>((resolve) => slow.end(resolve))
  expect(Buffer.concat(read).toString()).toBe(logged)
  rmSync(base, { recursive: true })
})

test('of two runs that begin in one folder at once, one is not run, and takes nothing from the other', async () => {
  await world.run('echo old > old')
  const asked = Promise.withResolvers<void>()
  const refused = Promise.withResolvers<void>()
  const client = world.clientWith('sandboxes', {
    async create(input) {
      asked.resolve()
      await refused.promise
      return world.client.sandboxes.create(input)
    },
  })
  const running = world.run('echo new > new', ['--dir', 'w'], { client })
  await asked.promise
  // Nothing of the workspace is there yet.
  const other = await world.command(['run', '--task', 't', '--dir', 'w', '--', 'missing-program'])
  refused.resolve()
  expect(other).toMatchObject({ code: 125, stderr: expect.stringContaining('is not empty') })
  expect((await running).code).toBe(0)
  expect((await world.run('ls')).stdout).toBe('new\nold\n')
})

test('the work is saved although the command has removed the folder of the run', async () => {
  const script = 'echo a > a; echo out; rm -rf "$TMPDIR"/sandkeep-run-*'
  expect(await world.run(script, ['--dir', 'w'])).toMatchObject({ code: 0 })
  expect(readdirSync(world.tmp)).toEqual([])
  expect((await turnOf(1))?.artifacts).toMatchObject([{ name: 'output.log' }, { name: 'workspace.diff' }])
  expect((await world.run('cat a')).stdout).toBe('a\n')
})

test('the work is saved although the record of the run cannot be written', async () => {
  const script = 'echo a > a; record=$(echo "$TMPDIR"/sandkeep-run-*/run.json); rm "$record"; mkdir -p "$record/x"'
  expect((await world.run(script)).code).toBe(123)
  expect((await world.run('cat a')).stdout).toBe('a\n')
})

test('a path that is too long for the diff keeps no turn from being written', async () => {
  const room = 4_095 - world.path('w/').length
  const script = `p=$(printf '%0200d/' 0); n=$(( ${room} / 201 )); i=1
    while [ $i -le $n ]; do mkdir "$p"; cd "$p"; i=$((i+1)); done
    printf hello > "$(printf '%0'$(( ${room} - n * 201 ))'d' 1)"`
  const outcome = await world.run(script, ['--dir', 'w'])
  expect(outcome).toMatchObject({ code: 0, stderr: expect.stringContaining('saved 1 file, 5 B') })
  expect(await world.artifact(1, 'workspace.diff')).toMatch(/^A 0{200}\//)
})
