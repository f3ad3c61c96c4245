import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { SandkeepNetworkError } from '../../client/index.ts'
import type { TestApi } from '../http/support/api.ts'
import { eachInWorld, type RunWorld } from './support/run-world.ts'
import { makeTree, readTree } from './support/tree.ts'

let api: TestApi
let world: RunWorld
eachInWorld((made, on) => {
  world = made
  api = on
})

const turnOf = (turn: number) => world.client.memory.getTurn({ taskId: 't', turn })
const sandboxes = async () => (await world.client.sandboxes.list()).sandboxes
const fails = async () => {
  throw new SandkeepNetworkError('http://api.test', new Error('gone'))
}
const onlyAutosaves: typeof world.client.sandboxes.saveSnapshot = async (id, input) =>
  input.reason === 'autosave' ? world.client.sandboxes.saveSnapshot(id, input) : fails()
/** A shell that does something on a signal, and says when it is ready for it. */
const trap = (signal: string, work: string) =>
  `trap '${work}' ${signal}; echo > "$BASE/ready"; while ! [ -e end ]; do sleep 0.02; done`
const ready = () => expect.poll(() => readdirSync(world.base), { timeout: 30_000 }).toContain('ready')
const start = (script: string, args: string[] = []) => world.run(script, args, { env: { BASE: world.base } })

describe('the exit code', () => {
  test.each([
    ['exit 0', 0],
    ['exit 1', 1],
    ['exit 123', 123],
    ['exit 255', 255],
    ['kill -9 $$', 137],
    ['kill -SEGV $$', 139],
  ])('of `%s` is passed on', async (script, code) => {
    expect((await world.run(`echo a > a; ${script}`)).code).toBe(code)
    expect((await turnOf(1))?.meta).toMatchObject({ exit_code: code })
    expect((await sandboxes())[0]).toMatchObject({ status: 'destroyed', latestSnapshotSeq: 1 })
  })

  test.each([
    ['missing-program', 127, /no such command: missing-program/],
    ['./not-executable', 126, /cannot be executed \(EACCES\)/],
  ])('of a command that cannot be started: %s', async (program, code, message) => {
    await world.run('echo x > not-executable')
    const outcome = await world.command(['run', '--task', 't', '--', program])
    expect(outcome).toMatchObject({ code, stderr: expect.stringMatching(message) })
    expect((await sandboxes()).map(({ status }) => status)).toEqual(['destroyed', 'destroyed'])
    expect(await turnOf(2)).toBeNull()
    expect(readdirSync(world.tmp)).toEqual([])
  })

  test.each<[string, string[], RegExp]>([
    ['no task', ['run', '--', 'true'], /--task/],
    ['no command', ['run', '--task', 't'], /command/],
    ['a malformed task', ['run', '--task', '-t/', '--', 'true'], /--task must be/],
    ['a malformed interval', ['run', '--task', 't', '--autosave', '1x', '--', 'true'], /--autosave/],
    ['no time', ['run', '--task', 't', '--timeout', '0s', '--', 'true'], /--timeout/],
    ['meta without a value', ['run', '--task', 't', '--meta', 'model', '--', 'true'], /name=value/],
    ['meta that is no number', ['run', '--task', 't', '--meta', 'cost=much', '--', 'true'], /cost.*number/],
    ['meta that is no object', ['run', '--task', 't', '--meta', 'tokens=[1]', '--', 'true'], /tokens.*JSON/],
    ['meta of the run itself', ['run', '--task', 't', '--meta', 'exit_code=0', '--', 'true'], /exit_code/],
    [
      'tokens that are no numbers',
      ['run', '--task', 't', '--meta', 'tokens={"input":"1"}', '--', 'true'],
      /input.*number/,
    ],
    ['a malformed snapshot', ['run', '--task', 't', '--from', 'x/0', '--', 'true'], /--from should be SANDBOX_ID/],
    ['a file as --dir', ['run', '--task', 't', '--dir', 'file', '--', 'true'], /not a folder/],
  ])('is 2 for %s', async (_name, args, message) => {
    makeTree(world.base, { file: 'x' })
    expect(await world.command(args)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) })
    expect(await sandboxes()).toEqual([])
  })

  test('is 125 for a folder that is not empty, which is not touched', async () => {
    makeTree(world.path('full'), { mine: 'x' })
    const outcome = await world.run('echo a > mine', ['--dir', 'full'])
    expect(outcome).toMatchObject({ code: 125, stderr: expect.stringMatching(/full is not empty/) })
    expect(readFileSync(world.path('full/mine'), 'utf8')).toBe('x')
    expect([readdirSync(world.tmp), readdirSync(world.path('full'))]).toEqual([[], ['mine']])
    expect(await sandboxes()).toEqual([])
    makeTree(world.base, { empty: { dir: true } })
    expect((await world.run('echo a > a', ['--dir', 'empty'])).code).toBe(0)
    expect(readFileSync(world.path('empty/a'), 'utf8')).toBe('a\n')
  })

  test('is 125 when the API cannot be reached, and nothing is left', async () => {
    const client = world.clientWith('sandboxes', { create: fails })
    const outcome = await world.run('true', ['--dir', 'new'], { client })
    expect(outcome).toMatchObject({ code: 125, stderr: expect.stringContaining('No answer from api.test') })
    expect([readdirSync(world.tmp), readdirSync(world.path('new'))]).toEqual([[], []])
  })
})

describe('a signal', () => {
  test.each<['SIGINT' | 'SIGTERM' | 'SIGHUP', number]>([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])('%s goes on to the command, whose work is saved then', async (signal, code) => {
    const running = start(
      trap(signal.slice(3), `echo told > told; trap - ${signal.slice(3)}; kill -${signal.slice(3)} $$`),
    )
    await ready()
    world.signal(signal)
    expect((await running).code).toBe(code)
    expect((await turnOf(1))?.meta.exit_code).toBe(code)
    await world.run('true', ['--dir', 'next'])
    expect(readFileSync(world.path('next/told'), 'utf8')).toBe('told\n')
  })

  test('may be taken by the command, any number of times', async () => {
    const running = start(trap('INT', 'echo int; echo > "$BASE/again"'))
    await ready()
    world.signal('SIGINT')
    await expect.poll(() => readdirSync(world.base), { timeout: 30_000 }).toContain('again')
    rmSync(world.path('again'))
    world.signal('SIGINT')
    await expect.poll(() => readdirSync(world.base), { timeout: 30_000 }).toContain('again')
    world.signal('SIGTERM')
    expect(await running).toMatchObject({ code: 143, stdout: 'int\nint\n' })
  })

  test('before the command begins keeps it from being run', async () => {
    const client = world.clientWith('sandboxes', {
      create(input) {
        world.signal('SIGTERM')
        return world.client.sandboxes.create(input)
      },
    })
    const outcome = await world.run('echo run > "$BASE/run"', [], { client, env: { BASE: world.base } })
    expect(outcome).toMatchObject({ code: 143, stderr: expect.stringContaining('Interrupted') })
    expect(readdirSync(world.base)).not.toContain('run')
    expect((await sandboxes()).map(({ status }) => status)).toEqual(['destroyed'])
    expect(readdirSync(world.tmp)).toEqual([])
  })

  const signalling = (times: number) =>
    world.clientWith('blobs', {
      prepareUploads(blobs) {
        for (let sent = 0; sent < times; sent += 1) world.signal('SIGTERM')
        return world.client.blobs.prepareUploads(blobs)
      },
    })

  test('while the work is saved does not keep it from being saved', async () => {
    const outcome = await world.run('echo a > a', [], { client: signalling(1) })
    expect(outcome).toMatchObject({ code: 0, stderr: expect.stringContaining('saving the work') })
    expect((await turnOf(1))?.artifacts).toHaveLength(2)
  })

  test('and a second one while it is saved end that, and nothing is lost', async () => {
    const outcome = await world.run('echo a > a', [], { client: signalling(2) })
    expect(outcome).toMatchObject({ code: 123, stderr: expect.stringContaining('To save it: sandkeep save ') })
    expect(await turnOf(1)).toBeNull()
    const command = /To save it: (.*)\n/.exec(outcome.stderr)?.[1]?.split(' ').slice(1) ?? []
    expect((await world.command(command)).code).toBe(0)
    expect((await turnOf(1))?.artifacts).toHaveLength(2)
  })
})

describe('the time-out', () => {
  test('ends the command, and saves what it has done', async () => {
    const running = start('echo a > a; echo > "$BASE/ready"; while :; do sleep 0.02; done', ['--timeout', '30m'])
    await ready()
    world.timers.fire(1_800_000)
    expect(await running).toMatchObject({ code: 143, stderr: expect.stringContaining('ended after --timeout 30m\n') })
    expect((await turnOf(1))?.meta).toMatchObject({ exit_code: 143, timed_out: true })
    expect((await sandboxes())[0]).toMatchObject({ status: 'destroyed', latestSnapshotSeq: 1 })
  })

  test('ends a command that does not want to', async () => {
    const running = start(trap('TERM', 'echo > "$BASE/asked"'), ['--timeout', '30m'])
    await ready()
    world.timers.fire(1_800_000)
    await expect.poll(() => readdirSync(world.base), { timeout: 30_000 }).toContain('asked')
    world.timers.fire(10_000)
    expect((await running).code).toBe(137)
  })

  test('is no success, even if the command says so', async () => {
    const running = start(trap('TERM', 'exit 0'), ['--timeout', '30m'])
    await ready()
    world.timers.fire(1_800_000)
    expect((await running).code).toBe(124)
    expect((await turnOf(1))?.meta).toMatchObject({ exit_code: 0, timed_out: true })
  })
})

describe('a service that cannot be reached in the end', () => {
  const down = (method: 'sandboxes.saveSnapshot' | 'sandboxes.destroy' | 'memory.putTurn' | 'memory.putArtifact') => {
    const [service, name] = method.split('.') as ['sandboxes' | 'memory', string]
    return world.clientWith(service, { [name]: fails })
  }
  const told = (stderr: string) => /To save it: (.*)\n/.exec(stderr)?.[1]?.split(' ').slice(1) ?? []

  test.each([
    ['sandboxes.saveSnapshot', 'its work is not saved yet'],
    ['sandboxes.destroy', 'its files are saved, but its record is not finished yet'],
    ['memory.putTurn', 'its files are saved, but its record is not finished yet'],
    ['memory.putArtifact', 'its files are saved, but its record is not finished yet'],
  ] as const)('loses nothing: %s', async (method, state) => {
    await world.run('echo old > old')
    const script = 'echo out; echo a > a; echo "# Did it" > .sandkeep/summary.md; exit 3'
    const outcome = await world.run(script, ['--meta', 'model=m'], { client: down(method) })
    expect(outcome.code).toBe(123)
    expect(outcome.stderr).toContain(`The command ended with 3, and ${state}. No answer`)
    const [, kept = ''] = /The workspace stays in (\S+),/.exec(outcome.stderr) ?? []
    expect(readFileSync(`${kept}/a`, 'utf8')).toBe('a\n')

    const command = told(outcome.stderr)
    const saved = await world.command(command)
    expect(saved).toMatchObject({ code: 0, stdout: expect.stringContaining('t turn 2: saved 2 files') })
    const turn = await turnOf(2)
    expect(turn).toMatchObject({ summaryMd: '# Did it\n', meta: { exit_code: 3, model: 'm', snapshot_seq: 1 } })
    expect(turn?.artifacts.map(({ name }) => name)).toEqual(['output.log', 'workspace.diff'])
    expect(await world.artifact(2, 'output.log')).toBe('out\n')
    expect((await sandboxes()).map(({ status }) => status)).toEqual(['destroyed', 'destroyed'])
    expect(await turnOf(3)).toBeNull()
    // And once more changes nothing.
    expect((await world.command(command)).code).toBe(0)
    expect(await turnOf(3)).toBeNull()
    expect((await sandboxes())[0]?.latestSnapshotSeq).toBe(1)
    await world.run('true', ['--dir', 'next'])
    expect(Object.keys(readTree(world.path('next')))).toEqual(['.sandkeep', 'a', 'old'])
  })

  const late = () => ({ client: api.withOptions({ now: () => Date.now() + 2 * 86_400_000 }).client(world.scope) })

  test.each(['nothing', 'an autosave', 'the work of another'])(
    'nor when the sandbox has ended too long ago to be saved, after %s',
    async (before) => {
      if (before === 'the work of another') await world.run('echo old > old')
      const saveSnapshot = before === 'an autosave' ? onlyAutosaves : fails
      const client = world.clientWith('sandboxes', { saveSnapshot })
      const wait = 'echo > "$BASE/ready"; while ! [ -e "$BASE/go" ]; do sleep 0.02; done'
      const running = world.run(`echo a > a; ${wait}; echo b > b`, [], { client, env: { BASE: world.base } })
      await ready()
      if (before === 'an autosave') {
        world.timers.fire(60_000)
        await expect.poll(async () => (await sandboxes())[0]?.latestSnapshotSeq, { timeout: 30_000 }).toBe(1)
      }
      makeTree(world.base, { go: '' })
      const saved = await world.command(told((await running).stderr), late())
      expect(saved).toMatchObject({ code: 0, stderr: expect.not.stringContaining('begins with') })
      const { sandboxes: all } = await late().client.sandboxes.list({ taskId: 't' })
      expect((await turnOf(before === 'the work of another' ? 2 : 1))?.meta).toMatchObject({
        exit_code: 0,
        sandbox_id: all[1]?.sandboxId,
        snapshot_sandbox_id: all[0]?.sandboxId,
        snapshot_seq: 1,
      })
      await world.run('true', ['--dir', 'next'])
      expect(readFileSync(world.path('next/a'), 'utf8')).toBe('a\n')
    },
  )

  test('and does not take the place of what another run has saved since, unless that is asked for', async () => {
    const outcome = await world.run('echo mine > a', [], { client: down('sandboxes.saveSnapshot') })
    await world.run('echo theirs > a; echo b > b')
    const saved = await world.command([...told(outcome.stderr), '--json'], late())
    expect(saved).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('the next run of t begins with what another has saved'),
    })
    expect(JSON.parse(saved.stdout)).toMatchObject({ turn: 2, snapshot_seq: 1, latest: false })
    await world.run('true', ['--dir', 'next'])
    expect(readFileSync(world.path('next/a'), 'utf8')).toBe('theirs\n')
    // It is saved, and a run can go on with it.
    const [, from = ''] = / --from (\S+)/.exec(saved.stderr) ?? []
    expect((await world.run('cat a; ls', ['--from', from], late())).stdout).toBe('mine\na\n')
    await world.run('true', ['--dir', 'after'], late())
    expect(readFileSync(world.path('after/a'), 'utf8')).toBe('mine\n')
  })

  test('nor is a save undone by a sandbox that is gone, or that only another may destroy', async () => {
    const outcome = await world.run('echo a > a', [], { client: down('sandboxes.saveSnapshot') })
    const writer = api.client({ ...world.scope, apiKey: await api.createKey('writer') })
    expect((await world.command(told(outcome.stderr), { client: writer })).code).toBe(0)
    const gone = api.withOptions({ now: () => Date.now() + 40 * 86_400_000 }).client(world.scope)
    expect(await gone.sandboxes.get((await sandboxes())[0]?.sandboxId ?? '')).toBeNull()
    expect((await world.command(told(outcome.stderr), { client: gone })).code).toBe(0)
  })

  test('save takes only what a run has left', async () => {
    for (const folder of ['.', 'missing']) {
      expect(await world.command(['save', folder])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/sandkeep: /),
      })
    }
  })
})
