import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startCommand } from '../../cli/run/command.ts'
import { OutputLog } from '../../cli/run/output-log.ts'
import * as workspaceFolder from '../../cli/run/workspace-folder.ts'
import { startTestApi, type TestApi } from '../http/support/api.ts'
import { ManualTimers, RunWorld } from './support/run-world.ts'
import { temporaryFolder } from './support/tree.ts'

vi.mock('../../cli/run/workspace-folder.ts', { spy: true })

let api: TestApi
let world: RunWorld
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())
beforeEach(() => {
  world = new RunWorld(api)
  return () => {
    vi.restoreAllMocks()
    world.remove()
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
