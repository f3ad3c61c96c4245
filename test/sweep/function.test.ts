import { createHash } from 'node:crypto'
import { ListObjectVersionsCommand } from '@aws-sdk/client-s3'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createHandler } from '../../lambdas/sweep/handler.ts'
import { createTelemetry } from '../../lambdas/sweep/telemetry.ts'
import { createBlobStore } from '../../src/blobs/store.ts'
import { Pages } from '../../src/sweep/pages.ts'
import { listReports, noCounts, type SweepReport } from '../../src/sweep/report.ts'
import type { SweepEvent } from '../../src/sweep/run.ts'
import { Table } from '../../src/table/table.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { type Engines, startEngines } from '../support/engines.ts'

// As the stack sets it: the logger looks at it when it is loaded.
vi.hoisted(() => {
  process.env.POWERTOOLS_LOG_LEVEL = 'INFO'
})

const MINUTE_MS = 60_000
const LATER_MS = 2 * 86_400_000

let engines: Engines
let table: Table
const now = () => Date.now() + LATER_MS
beforeEach(async () => {
  // The function looks for scopes itself: it needs a table and a bucket without those of other tests.
  engines = await startEngines()
  table = new Table(engines.dynamodb, engines.tableName)
})
afterEach(async () => {
  await engines.stop()
})
afterAll(() => {
  vi.restoreAllMocks()
})

/** Unused blobs of a scope, in the order of their keys. */
async function fill(scope: Scope, texts: string[]): Promise<string[]> {
  const blobs = createBlobStore({ ...engines, scope })
  const keys = texts.map((text) => `sandbox-files/sha256/${createHash('sha256').update(text).digest('hex')}`)
  for (const [index, key] of keys.entries()) await blobs.put(key, Buffer.from(texts[index] ?? ''))
  return keys.sort()
}

const keysOf = async (scope: Scope) => (await createBlobStore({ ...engines, scope }).list('')).map(({ key }) => key)
const reportsOf = (scope: Scope) => listReports(table, scope, 100, now())

/** Each look at the clock takes `tickMs` of the 15 minutes that a call has. */
function clock(tickMs: number) {
  let left = 15 * MINUTE_MS
  return {
    getRemainingTimeInMillis: () => {
      left -= tickMs
      if (left < 0) throw new Error('Lambda has ended the function.')
      return left
    },
  }
}

/** Calls the function, and again for all that it hands over. */
async function run(first: SweepEvent, tickMs = 0) {
  const events: SweepEvent[] = [first]
  const telemetry = { finished: vi.fn<(report: SweepReport) => void>(), failed: vi.fn() }
  const startSweep = async (event: SweepEvent) => {
    events.push(JSON.parse(JSON.stringify(event)))
  }
  const handler = createHandler({ ...engines, now, startSweep }, telemetry)
  const errors: unknown[] = []
  for (let index = 0; index < events.length; index += 1) {
    if (events.length > 50) throw new Error('It hands over for ever.')
    await handler(events[index] ?? {}, clock(tickMs)).catch((error: unknown) => errors.push(error))
  }
  return { events, telemetry, errors }
}

it('sweeps every scope that has data in one call, when there is time', async () => {
  const scopes = [engines.freshScope(), engines.freshScope()]
  for (const scope of scopes) await fill(scope, ['a', 'b'])
  const { events, telemetry, errors } = await run({})
  expect(errors).toStrictEqual([])
  expect(events).toHaveLength(1)
  for (const scope of scopes) expect(await keysOf(scope)).toStrictEqual([])
  expect(telemetry.finished.mock.calls.map(([{ deleted }]) => deleted)).toStrictEqual([2, 2])
})

it('hands over before its time ends, and goes on where it was', async () => {
  const scopes = [engines.freshScope(), engines.freshScope(), engines.freshScope()]
  const texts = Array.from({ length: 7 }, (_, index) => String(index))
  for (const scope of scopes) await fill(scope, texts)
  // Each call gets through a few keys of one scope.
  const { events, telemetry, errors } = await run({}, 3 * MINUTE_MS)
  expect(errors).toStrictEqual([])
  expect(events.length).toBeGreaterThan(4)
  expect(events).toContainEqual({
    all: expect.objectContaining({ current: expect.objectContaining({ scope: scopes[0], resume: expect.anything() }) }),
  })
  expect(events).toContainEqual({ all: expect.objectContaining({ after: scopes[1] }) })
  for (const scope of scopes) {
    expect(await keysOf(scope)).toStrictEqual([])
    // One sweep, however many calls it took: what each did is added up.
    expect(await reportsOf(scope)).toMatchObject([{ state: 'done', listed: 7, condemned: 7, deleted: 7 }])
  }
  expect(telemetry.finished).toHaveBeenCalledTimes(3)
})

it('hands over a sweep of one scope, and tells of it once', async () => {
  const scope = engines.freshScope()
  await fill(scope, ['a', 'b', 'c', 'd', 'e', 'f'])
  const one = { scope, id: 'sweep-1', olderThanMs: 0, dryRun: false, waitMs: 0 }
  const { events, telemetry } = await run({ one }, 3 * MINUTE_MS)
  expect(events.length).toBeGreaterThan(1)
  for (const event of events.slice(1)) expect(event.one).toMatchObject({ ...one, resume: expect.anything() })
  expect(await keysOf(scope)).toStrictEqual([])
  expect(await reportsOf(scope)).toMatchObject([{ id: 'sweep-1', state: 'done', deleted: 6 }])
  expect(telemetry.finished).toHaveBeenCalledTimes(1)
})

it('hands over in the middle of what it deletes', async () => {
  const scope = engines.freshScope()
  const keys = await fill(scope, ['a', 'b', 'c'])
  const pages = new Pages(table, scope, 'blobs')
  const { Versions: versions = [] } = await engines.s3.send(
    new ListObjectVersionsCommand({ Bucket: engines.bucketName, Prefix: `blobs/${scope.tenant}/` }),
  )
  // As a run that was killed left them: a page for each.
  for (const [index, key] of keys.entries()) {
    await pages.write([{ key, versionId: versions[index]?.VersionId ?? '', size: 1, current: true }])
  }
  const one = { scope, id: 'sweep-1', olderThanMs: 0, dryRun: false, waitMs: 0 }
  // The time of a call is up after its first page.
  const { events } = await run({ one }, 14 * MINUTE_MS)
  expect(events).toHaveLength(3)
  expect(await keysOf(scope)).toStrictEqual([])
  expect(await reportsOf(scope)).toMatchObject([{ state: 'done', deleted: 3, condemned: 0 }])
})

it('does not keep the others from it when a scope fails, and fails at the end', async () => {
  const [first, failing, last] = [engines.freshScope(), engines.freshScope(), engines.freshScope()]
  for (const scope of [first, failing, last]) await fill(scope, ['a'])
  engines.s3.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const { Prefix = '' } = args.input as { Prefix?: string }
        if (commandName === 'ListObjectVersionsCommand' && Prefix.includes(failing.tenant)) throw new Error('injected')
        return next(args)
      },
    { step: 'initialize' },
  )
  const { telemetry, errors } = await run({})
  expect(errors).toMatchObject([{ message: '1 scopes could not be swept.', errors: [{ message: 'injected' }] }])
  expect(telemetry.failed).toHaveBeenCalledExactlyOnceWith(failing, expect.objectContaining({ message: 'injected' }))
  expect(await keysOf(first)).toStrictEqual([])
  expect(await keysOf(failing)).toHaveLength(1)
  expect(await keysOf(last)).toStrictEqual([])
  expect(await reportsOf(failing)).toMatchObject([{ state: 'failed' }])
})

it('tells of a sweep of one scope that fails', async () => {
  const scope = engines.freshScope()
  engines.s3.send = async () => {
    throw new Error('injected')
  }
  const one = { scope, id: 'sweep-1', olderThanMs: 0, dryRun: false, waitMs: 0 }
  const { telemetry, errors } = await run({ one })
  expect(errors).toMatchObject([{ message: 'injected' }])
  expect(telemetry.failed).toHaveBeenCalledExactlyOnceWith(scope, errors[0])
})

it('counts in metrics without a scope among the dimensions, and in log lines', () => {
  const lines: string[] = []
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
  vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
  vi.spyOn(console, 'log').mockImplementation((line) => lines.push(String(line)))
  const telemetry = createTelemetry()
  const report: SweepReport = {
    ...noCounts(),
    ...{
      id: 'sweep-1',
      state: 'done',
      startedAt: 0,
      seconds: 1.5,
      requests: 9,
      costUsd: 0,
      dryRun: false,
      failures: [],
    },
    ...{ deleted: 3, condemned: 4, bytesFreed: 50 },
  }
  telemetry.finished(report)
  telemetry.finished({ ...report, failures: [{ key: 'k', reason: 'AccessDenied' }] })
  telemetry.failed({ tenant: 'acme', project: 'web' }, new Error('injected'))
  vi.restoreAllMocks()

  const written = lines.map((line) => JSON.parse(line))
  const metrics = written.filter(({ _aws }) => _aws !== undefined)
  expect(metrics.map(({ _aws: { CloudWatchMetrics } }) => CloudWatchMetrics)).toMatchObject([
    [{ Namespace: 'Sandkeep', Dimensions: [['service']] }],
    [{ Namespace: 'Sandkeep', Dimensions: [['service']] }],
    [{ Namespace: 'Sandkeep', Dimensions: [['service']], Metrics: [{ Name: 'SweepFailed', Unit: 'Count' }] }],
  ])
  expect(metrics).toMatchObject([
    {
      SweepDeleted: 3,
      SweepBytesFreed: 50,
      SweepCondemned: 4,
      SweepBytesWaiting: 0,
      SweepFailed: 0,
      SweepSeconds: 1.5,
    },
    { SweepFailed: 1 },
    { SweepFailed: 1 },
  ])
  expect(written.filter(({ level }) => level !== undefined)).toMatchObject([
    { level: 'INFO', report: { id: 'sweep-1', deleted: 3 } },
    { level: 'INFO' },
    { level: 'ERROR', scope: { tenant: 'acme', project: 'web' }, error: { message: 'injected' } },
  ])
})
