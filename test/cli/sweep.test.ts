import { rmSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import type { Client } from '../../cli/context.ts'
import { InterruptedError } from '../../cli/errors.ts'
import { awaitReport } from '../../cli/sweep-report.ts'
import { noCounts, type SweepReport } from '../../src/sweep/report.ts'
import type { StartSweepOptions } from '../../src/sweep/service.ts'
import { runCommand } from './support/command.ts'
import { temporaryFolder } from './support/tree.ts'

const base = temporaryFolder()
afterAll(() => rmSync(base, { recursive: true, force: true }))

const done: SweepReport = {
  ...noCounts(),
  id: 'sweep-1',
  state: 'done',
  startedAt: 0,
  seconds: 12.34,
  requests: 1_234,
  costUsd: 0.0012345,
  dryRun: false,
  failures: [],
  listed: 12_000,
  referenced: 11_000,
  condemned: 900,
  deleted: 899,
  spared: 1,
  bytesFreed: 5_000_000,
}
const running: SweepReport = { ...done, ...noCounts(), state: 'running' }

/** A deployment whose sweep has the reports one after the other; undefined: there is none yet. */
function deployment(reports: Array<SweepReport | undefined>) {
  const started: StartSweepOptions[] = []
  const client = {
    sweeps: {
      async start(options: StartSweepOptions = {}) {
        started.push(options)
        return { sweepId: 'sweep-1' }
      },
      async list() {
        if (started.length === 0) return [{ ...done, id: 'sweep-0' }]
        const report = reports.length > 1 ? reports.shift() : reports[0]
        return report ? [{ ...done, id: 'sweep-2', state: 'failed' as const }, report] : []
      },
      async usage() {
        return {
          ...{ threads: 2, checkpoints: 1_500, referencedBlobs: 3_000, referencedBytes: 1_000_000 },
          ...{ logicalBytes: 2_500_000, unreferencedBlobs: 1, unreferencedBytes: 10 },
        }
      },
    },
  } as unknown as Client
  return {
    started,
    run: (args: string[], signal?: AbortSignal) =>
      runCommand(args, { client, cwd: base, home: base, ...(signal && { signal }) }),
  }
}

test('a sweep is started, waited for, and its report printed', async () => {
  const { run, started } = deployment([undefined, running, done])
  expect(await run(['sweep'])).toStrictEqual({
    code: 0,
    stderr: 'sweep sweep-1 started\nsweeping: 12,000 objects\n',
    stdout: [
      'sweep-1: done after 12.3 s',
      'listed      12,000',
      'referenced  11,000',
      'condemned   900',
      'spared      1',
      'deleted     899, 5.0 MB',
      'cleared     0',
      'requests    1,234, $0.001234',
      '',
    ].join('\n'),
  })
  expect(started).toStrictEqual([{ olderThanMs: 86_400_000, waitMs: 0, dryRun: false }])
})

test('as JSON it has the fields of the API', async () => {
  const { stdout } = await deployment([done]).run(['sweep', '--json'])
  expect(JSON.parse(stdout)).toStrictEqual({
    sweep_id: 'sweep-1',
    state: 'done',
    started_at: '1970-01-01T00:00:00.000Z',
    seconds: 12.34,
    dry_run: false,
    listed: 12_000,
    referenced: 11_000,
    condemned: 900,
    spared: 1,
    deleted: 899,
    bytes_freed: 5_000_000,
    cleared: 0,
    requests: 1_234,
    cost_usd: 0.0012345,
    failures: [],
  })
})

test.for([
  [['--older-than', '0s'], { olderThanMs: 0 }],
  [['--older-than', '90m'], { olderThanMs: 5_400_000 }],
  [['--older-than', '24h'], { olderThanMs: 86_400_000 }],
  [['--older-than', '7d'], { olderThanMs: 604_800_000 }],
  [['--wait', '10m'], { waitMs: 600_000 }],
  [['--dry-run'], { dryRun: true }],
] as const)('%j is asked for', async ([args, expected]) => {
  const { run, started } = deployment([done])
  expect(await run(['sweep', ...args])).toMatchObject({ code: 0 })
  expect(started).toMatchObject([expected])
})

test.for([
  ['--older-than', '24'],
  ['--older-than', '-1s'],
  ['--older-than', '1.5h'],
  ['--older-than', '1w'],
  ['--older-than', ''],
  ['--older-than', '99999999999999999d'],
  ['--wait', '601s'],
  ['--wait', 'forever'],
])('%j is refused', async (args) => {
  const { run, started } = deployment([done])
  expect(await run(['sweep', ...args])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(args[0] ?? ''),
  })
  expect(started).toStrictEqual([])
})

test('a sweep that waits for writers says so in one line', async () => {
  const { code, stdout } = await deployment([{ ...done, state: 'waiting' }]).run(['sweep'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^sweep-1: waiting after/)
  expect(stdout.split('\n').filter((line) => line.startsWith('Waits for writers'))).toHaveLength(1)
})

test('a sweep that failed prints its report and exits 1', async () => {
  const { code, stdout, stderr } = await deployment([{ ...done, state: 'failed' }]).run(['sweep', '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({ state: 'failed' })
  expect(stderr).toContain('sandkeep: The sweep failed.')
})

test('what the storage would not delete is named, and the exit is 1', async () => {
  const failures = [{ key: 'sandbox-files/x', reason: 'AccessDenied: no' }]
  const { code, stderr } = await deployment([{ ...done, failures }]).run(['sweep'])
  expect(code).toBe(1)
  expect(stderr).toContain('did not delete 1 object.')
  expect(stderr).toContain('  sandbox-files/x: AccessDenied: no\n')
})

test('an interruption ends the command, not the sweep', async () => {
  const interrupt = new AbortController()
  setTimeout(() => interrupt.abort(new InterruptedError()), 50)
  expect(await deployment([running]).run(['sweep'], interrupt.signal)).toMatchObject({ code: 130, stdout: '' })
})

test('a sweep that is not heard of any more is given up; one that goes on is not', async () => {
  let now = 0
  const pauses: number[] = []
  const waitFor = (list: () => SweepReport[]) =>
    awaitReport({
      sweeps: { list: async () => list() },
      sweepId: 'sweep-1',
      signal: new AbortController().signal,
      onProgress: () => undefined,
      now: () => now,
      pause: async (ms) => {
        pauses.push(ms)
        now += 60_000
      },
    })
  await expect(waitFor(() => [running])).rejects.toThrow('Nothing was heard of the sweep sweep-1')
  expect(now).toBe(21 * 60_000)
  expect(Math.max(...pauses)).toBe(5_000)

  await expect(waitFor(() => [])).rejects.toThrow('Nothing was heard of the sweep sweep-1')

  let looks = 0
  const report = await waitFor(() => {
    looks += 1
    return [looks < 60 ? { ...running, listed: Math.floor(looks / 15) } : done]
  })
  expect(report).toStrictEqual(done)
})

test('usage is printed for people and as JSON', async () => {
  const { run } = deployment([])
  expect(await run(['usage'])).toStrictEqual({
    code: 0,
    stderr: '',
    stdout: [
      'threads       2',
      'checkpoints   1,500',
      'referenced    3,000 blobs, 1.0 MB',
      'logical       2.5 MB',
      'unreferenced  1 blob, 10 B',
      '',
    ].join('\n'),
  })
  expect(JSON.parse((await run(['usage', '--json'])).stdout)).toStrictEqual({
    threads: 2,
    checkpoints: 1_500,
    referenced_blobs: 3_000,
    referenced_bytes: 1_000_000,
    logical_bytes: 2_500_000,
    unreferenced_blobs: 1,
    unreferenced_bytes: 10,
  })
})

test('the sweeps of a project are listed, with what the storage would not delete', async () => {
  const failures = [{ key: 'a\u001b[2J', reason: 'AccessDenied' }]
  const asked: unknown[] = []
  const list = async (options: unknown) => {
    asked.push(options)
    return [
      { ...done, failures },
      { ...done, id: 'sweep-0', dryRun: true },
    ]
  }
  const client = { sweeps: { list } } as unknown as Client
  const run = (...args: string[]) => runCommand(['sweep', 'list', ...args], { client, cwd: base, home: base })
  expect(await run()).toStrictEqual({
    code: 0,
    stdout: [
      'sweep-1  1970-01-01T00:00:00.000Z  done  deleted 899 objects, 5.0 MB',
      '  not deleted: a\\u{1b}[2J: AccessDenied',
      'sweep-0  1970-01-01T00:00:00.000Z  done  dry run\n',
    ].join('\n'),
    stderr: '',
  })
  const { stdout } = await run('--limit', '5', '--json')
  expect(JSON.parse(stdout).sweeps).toMatchObject([{ sweep_id: 'sweep-1', failures }, { dry_run: true }])
  expect(asked).toEqual([{ limit: 20 }, { limit: 5 }])
})

test.for(['0', '101', 'x', '1.5'])('a limit of %s is refused', async (limit) => {
  const { code, stderr } = await deployment([]).run(['sweep', 'list', '--limit', limit])
  expect({ code, stderr }).toEqual({ code: 2, stderr: 'sandkeep: --limit should be a whole number from 1 to 100.\n' })
})
