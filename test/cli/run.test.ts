import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { runScopeSweep } from '../../src/sweep/run.ts'
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
const artifact = (turn: number, name: string) => world.artifact(turn, name)
/** The latest workspace of the task, restored by a run of its own. */
const latest = async (name: string) => {
  await world.run('true', ['--dir', name])
  const { '.sandkeep': own, ...tree } = readTree(world.path(name))
  expect(own).toBe('dir')
  return tree
}

describe('a run', () => {
  test('is a turn of its task, with its output and what changed', async () => {
    const before = Date.now()
    const first = await world.run('echo out; echo err >&2; printf "one\\ntwo\\n" > a; echo gone > b', [
      '--summary',
      '# Made it',
      '--profile',
      'node',
      ...['model=m-1', 'agent=claude', 'cost=0.25', 'tokens.input=12', 'tokens={"output":3}', 'ticket=A=1'].flatMap(
        (pair) => ['--meta', pair],
      ),
    ])
    expect(first).toMatchObject({ code: 0, stdout: 'out\n' })
    expect(first.stderr).toBe('err\nsandkeep: t turn 1: saved 2 files, 13 B\n')
    const [sandbox] = (await world.client.sandboxes.list({ taskId: 't' })).sandboxes
    expect(sandbox).toMatchObject({ profile: 'node', status: 'destroyed', latestSnapshotSeq: 1, taskId: 't' })
    const turn = await turnOf(1)
    expect(turn).toMatchObject({
      summaryMd: '# Made it',
      meta: {
        model: 'm-1',
        agent_id: 'claude',
        cost: 0.25,
        tokens: { input: 12, output: 3 },
        ticket: 'A=1',
        exit_code: 0,
        sandbox_id: sandbox?.sandboxId,
        snapshot_seq: 1,
      },
    })
    const { started_at, ended_at } = turn?.meta ?? {}
    expect(Date.parse(String(started_at))).toBeGreaterThanOrEqual(before)
    expect(Date.parse(String(ended_at))).toBeGreaterThanOrEqual(Date.parse(String(started_at)))
    expect((await artifact(1, 'output.log')).split('\n').sort()).toEqual(['', 'err', 'out'])

    await world.run('cat a; printf "one\\n2\\n" > a; chmod 700 a; rm b; mkdir empty; ln -s a link')
    expect(await artifact(2, 'output.log')).toBe('one\ntwo\n')
    const diff = await artifact(2, 'workspace.diff')
    expect(diff).toMatch(/^A empty\nA link\nD b\nM a \(content, mode 644 to 700\)\n/)
    expect(diff).toContain('--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n')
    expect(diff).toContain('--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n')
    expect(readdirSync(world.tmp)).toEqual([])
  })

  test('has the summary that its command leaves, which is no part of the workspace', async () => {
    await world.run('echo "# Did it" > .sandkeep/summary.md; echo more > .sandkeep/x; echo a > a')
    expect((await turnOf(1))?.summaryMd).toBe('# Did it\n')
    await world.run('echo "$SANDBOX_TASK_ID $SANDBOX_ID"; echo two > "$SANDBOX_SUMMARY_FILE"; ls .sandkeep')
    const turn = await turnOf(2)
    expect(turn?.summaryMd).toBe('two\n')
    expect(await artifact(2, 'output.log')).toBe(`t ${turn?.meta.sandbox_id}\nsummary.md\n`)
    expect(Object.keys(await latest('l'))).toEqual(['a'])
    expect((await turnOf(3))?.summaryMd).toBe('')
  })

  test('takes no link for a summary, and cuts what is too long for one', async () => {
    makeTree(world.base, { secret: 'secret' })
    await world.run(`ln -s ${world.path('secret')} .sandkeep/summary.md`)
    await world.run(`rmdir .sandkeep; mkdir d; echo x > d/summary.md; ln -s d .sandkeep`)
    await world.run(
      'head -c 1048575 /dev/zero | tr "\\0" a > .sandkeep/summary.md; printf "\\303\\251b" >> .sandkeep/summary.md',
    )
    expect((await turnOf(1))?.summaryMd).toBe('')
    expect((await turnOf(2))?.summaryMd).toBe('')
    expect((await turnOf(3))?.summaryMd).toBe('a'.repeat(1_048_575))
  })

  test('has a folder for its summary, whatever has its name in the snapshot', async () => {
    makeTree(world.base, { elsewhere: { dir: true } })
    const { sandbox } = await world.client.sandboxes.create({ profile: 'p', taskId: 't' })
    const files = [{ kind: 'symlink' as const, path: '.sandkeep', target: world.path('elsewhere') }]
    await world.client.sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'push', files })
    for (const [turn, args] of [[], ['--dir', 'w']].entries()) {
      const from = ['--from', `${sandbox.sandboxId}/1`, ...args]
      expect((await world.run('echo did > "$SANDBOX_SUMMARY_FILE"', from)).code).toBe(0)
      expect((await turnOf(turn + 1))?.summaryMd).toBe('did\n')
    }
    expect(readdirSync(world.path('elsewhere'))).toEqual([])
  })

  test('shows the credentials in its output to who runs it, and in the log to nobody', async () => {
    const env = { SANDBOX_TOKEN: 'secret-token' }
    const script = 'echo "key $SANDBOX_API_KEY, token $SANDBOX_TOKEN"; echo "$SANDBOX_TOKEN" >&2; printf "%s" skp_te'
    const { stdout } = await world.run(script, [], { env })
    expect(stdout).toBe('key skp_test, token secret-token\nskp_te')
    const log = await artifact(1, 'output.log')
    expect(log.split('\n').sort()).toEqual(['***', 'key ***, token ***', 'skp_te'])
  })

  test('takes no socket for a summary', async () => {
    const listen = `require('node:net').createServer().listen('.sandkeep/summary.md', () => process.kill(process.pid, 'SIGKILL'))`
    const outcome = await world.command(['run', '--task', 't', '--', process.execPath, '-e', listen])
    expect(outcome.code).toBe(137)
    expect((await turnOf(1))?.summaryMd).toBe('')
  })

  test('leaves out what a push leaves out, and names what cannot be kept', async () => {
    const outcome = await world.run(
      'mkfifo pipe; mkdir .git node_modules; echo x > .git/x; echo x > node_modules/x; echo x > .env; echo p > .gitignore; echo x > p; echo y > y',
    )
    expect(outcome).toMatchObject({ code: 0, stderr: expect.stringContaining('left out: pipe: it is a FIFO\n') })
    expect(Object.keys(await latest('l'))).toEqual(['.gitignore', 'y'])
  })

  test('tells its result as JSON on standard output, and all else on standard error', async () => {
    const { code, stdout, stderr } = await world.run('echo out; echo a > a; exit 7', ['--json'])
    expect(code).toBe(7)
    expect(stderr).toContain('out\n')
    expect(JSON.parse(stdout)).toEqual({
      task_id: 't',
      turn: 1,
      sandbox_id: (await turnOf(1))?.meta.sandbox_id,
      snapshot_seq: 1,
      latest: true,
      exit_code: 7,
      timed_out: false,
      files: 1,
      size_bytes: 2,
    })
  })

  test('ends what its command left running, before it saves', async () => {
    const outcome = await world.run(
      '(trap "echo late > late; exit" TERM; echo > set; while :; do sleep 0.02; done) & while ! [ -e set ]; do :; done',
    )
    expect(outcome.code).toBe(0)
    expect(Object.keys(await latest('l'))).toEqual(['late', 'set'])
  })

  test('does not wait for a process that has left and holds the output', async () => {
    const leave = 'setsid sh -c "echo \\$\\$ > pid; exec sleep 300" & while ! [ -s pid ]; do :; done'
    expect((await world.run(leave, ['--dir', 'd'])).code).toBe(0)
    process.kill(Number(readFileSync(world.path('d/pid'), 'utf8')), 'SIGKILL')
  })
})

describe('five rounds', () => {
  test('bring back bytes, modes, links and deletions, wherever they are run', async () => {
    const rounds: Array<[Parameters<typeof makeTree>[1], string[], Record<string, number>]> = [
      [
        {
          a: 'one',
          'b/c': Buffer.from([0, 255, 10]),
          'run.sh': { text: '#!/bin/sh', mode: 0o755 },
          empty: { dir: true },
        },
        [],
        {},
      ],
      [{ a: 'two', 'b/d': 'new', link: { link: 'b/c' }, broken: { link: '../gone' } }, [], { 'run.sh': 0o500 }],
      [{ link: 'a file now', 'empty/x': '' }, ['b/c', 'link'], { a: 0o600 }],
      [{ b: 'a file now', 'deep/er/still': 'x'.repeat(100_000), 'with space\n報告': 'y' }, ['b'], {}],
      [{ a: 'one', 'link/inside': 'a folder now' }, ['link', 'broken', 'run.sh', 'deep'], { 'empty/x': 0o444 }],
    ]
    const kept = world.path('kept')
    mkdirSync(kept)
    for (const [index, [nodes, without, modes]] of rounds.entries()) {
      const edit = (root: string) => {
        makeTree(root, nodes, without)
        for (const [path, mode] of Object.entries(modes)) chmodSync(`${root}/${path}`, mode)
      }
      // The command waits for the edit, which has seen what it began with.
      const before = readTree(kept)
      const dir = `round-${index}`
      const running = world.run(
        'echo begun > "$BASE/begun"; while ! [ -e "$BASE/done" ]; do sleep 0.02; done; rm "$BASE/done"',
        ['--dir', dir],
        {
          env: { BASE: world.base },
        },
      )
      await expect.poll(() => readdirSync(world.base), { timeout: 30_000 }).toContain('begun')
      const { '.sandkeep': own, ...began } = readTree(world.path(dir))
      expect([own, began]).toEqual(['dir', before])
      edit(world.path(dir))
      edit(kept)
      makeTree(world.base, {}, ['begun'])
      writeFileSync(world.path('done'), '')
      expect((await running).code).toBe(0)
    }
    expect(await latest('last')).toEqual(readTree(kept))
    const numbers = await Array.fromAsync(world.client.memory.listTurns('t'), ({ turn }) => turn)
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('two runs at once begin with the same, and have turns of their own', async () => {
    makeTree(world.base, { go: '' })
    await world.run('for i in 1 2 3 4 5 6 7 8; do echo $i > $i; done')
    const wait = 'echo > "$BASE/$NAME"; while ! [ -e "$BASE/left" -a -e "$BASE/right" ]; do sleep 0.02; done'
    const outcomes = await Promise.all(
      ['left', 'right'].map((NAME) => world.run(wait, ['--dir', `dir-${NAME}`], { env: { BASE: world.base, NAME } })),
    )
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0])
    expect(readTree(world.path('dir-left'))).toEqual(readTree(world.path('dir-right')))
    const turns = await Array.fromAsync(world.client.memory.listTurns('t'))
    expect(turns.map(({ turn }) => turn)).toEqual([1, 2, 3])
    expect(new Set(turns.map(({ meta }) => meta.sandbox_id)).size).toBe(3)
    for (const { artifacts } of turns) expect(artifacts).toHaveLength(2)
  })

  test('one that ends after a newer one is told that the next does not begin with its work', async () => {
    const running = world.run(
      'echo old > a; echo > "$BASE/begun"; while ! [ -e "$BASE/go" ]; do sleep 0.02; done',
      [],
      {
        env: { BASE: world.base },
      },
    )
    await expect.poll(() => readdirSync(world.base), { timeout: 30_000 }).toContain('begun')
    expect((await world.run('echo new > a')).stderr).not.toContain('begins with')
    makeTree(world.base, { go: '' })
    const outcome = await running
    const turn = await turnOf(2)
    expect(outcome).toMatchObject({
      code: 0,
      stderr: `sandkeep: t turn 2: saved 1 file, 4 B
sandkeep: the next run of t begins with what another has saved, not with this
sandkeep: to go on with this: sandkeep run --task t --from ${turn?.meta.sandbox_id}/1 -- COMMAND
`,
    })
    await world.run('true', ['--dir', 'next'])
    expect(readFileSync(world.path('next/a'), 'utf8')).toBe('new\n')
  })

  test('go on after the sandbox that they go on from was destroyed and swept', async () => {
    await world.run('echo a > a; echo x > x')
    await world.run('echo b > b; rm x')
    const [, first] = (await world.client.sandboxes.list()).sandboxes
    const config = { ...api.engines, now: () => Date.now() + 86_400_000, sandboxRetentionSec: 1 }
    // The first one's snapshot goes when nothing is left that began with it.
    for (const id of ['one', 'two']) {
      const request = { scope: world.scope, id, olderThanMs: 0, dryRun: false, waitMs: 0 }
      await runScopeSweep(config, request, () => false)
    }
    expect(await world.client.sandboxes.getSnapshot({ sandboxId: first?.sandboxId ?? '', snapshotSeq: 1 })).toBeNull()
    expect(await world.client.sandboxes.get(first?.sandboxId ?? '')).toBeNull()
    expect(Object.keys(await latest('l'))).toEqual(['a', 'b'])
  })
})
