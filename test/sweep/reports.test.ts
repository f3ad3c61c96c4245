import { afterAll, expect, it } from 'vitest'
import {
  keepReport,
  listReports,
  newSweepId,
  noCounts,
  removeOldReports,
  type SweepReport,
} from '../../src/sweep/report.ts'
import { runScopeSweep } from '../../src/sweep/run.ts'
import { readUsage } from '../../src/sweep/usage.ts'
import { injectFaults, refuse, serviceError } from '../store/support/faults.ts'
import { seededRandom } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import {
  checkpointOf,
  ownClients,
  type ScopeUnderSweep,
  sampleKeys,
  scopeUnderSweep,
} from './support/scope-under-sweep.ts'

const engines = await startEngines()
afterAll(engines.stop)

const DAY_MS = 86_400_000

function request({ scope, now }: ScopeUnderSweep) {
  return { scope, id: newSweepId(now()), olderThanMs: 0, dryRun: false, waitMs: 0 }
}

it('keeps a report of each run, newest first', async () => {
  const scope = scopeUnderSweep(engines)
  await scope.put('unused')
  const config = { ...engines, now: scope.now }
  const { report } = await runScopeSweep(config, request(scope), () => false)
  expect(report).toMatchObject({ state: 'done', listed: 1, condemned: 1, deleted: 1, bytesFreed: 6, failures: [] })
  expect(report.requests).toBeGreaterThan(10)
  expect(report.costUsd).toBeGreaterThan(0)
  scope.advance(1_000)
  await scope.put('unused')
  const writer = await scope.checkpoints.acquireWriter('thread')
  const waiting = await runScopeSweep(config, request(scope), () => false)
  expect(waiting.report).toMatchObject({ state: 'waiting', condemned: 1, deleted: 0 })
  await writer.release()
  scope.advance(1_000)
  const broken = ownClients(engines)
  injectFaults(broken.s3, 'ListObjectVersions', [refuse(() => serviceError('AccessDenied', 403))])
  await expect(runScopeSweep({ ...config, ...broken }, request(scope), () => false)).rejects.toThrow('AccessDenied')
  const states = async (limit: number) =>
    (await listReports(scope.table, scope.scope, limit, scope.now())).map(({ state }) => state)
  expect(await states(10)).toEqual(['failed', 'waiting', 'done'])
  expect(await states(2)).toEqual(['failed', 'waiting'])
  const other = scopeUnderSweep(engines)
  expect(await listReports(other.table, other.scope, 10, scope.now())).toEqual([])
})

it('adds up the runs that go on from each other to one report', async () => {
  const scope = scopeUnderSweep(engines)
  for (const text of ['1', '2', '3']) await scope.put(text)
  const config = { ...engines, now: scope.now }
  let rest: Parameters<typeof runScopeSweep>[1] | undefined = request(scope)
  let runs = 0
  let last: SweepReport | undefined
  while (rest) {
    const result = await runScopeSweep(config, rest, () => true)
    rest = result.rest
    last = result.report
    runs += 1
    expect(runs).toBeLessThan(20)
  }
  expect(runs).toBeGreaterThan(2)
  expect(last).toMatchObject({ state: 'done', listed: 3, condemned: 3, deleted: 3, bytesFreed: 3 })
  expect(await listReports(scope.table, scope.scope, 10, scope.now())).toEqual([last])
  expect(await scope.stored()).toEqual([])
})

it('leaves out reports that are past their time, and removes them', async () => {
  const scope = scopeUnderSweep(engines)
  const now = scope.now()
  const report = (age: number): SweepReport => ({
    ...noCounts(),
    ...{ id: newSweepId(now - age), state: 'done', startedAt: now - age, seconds: 1, requests: 1, costUsd: 0 },
    ...{ dryRun: false, failures: [] },
  })
  const reports = [report(91 * DAY_MS), report(89 * DAY_MS), report(0)]
  for (const one of reports) await keepReport(scope.table, scope.scope, one)
  const expected = [reports[2], reports[1]]
  expect(await listReports(scope.table, scope.scope, 10, now)).toEqual(expected)
  expect(await removeOldReports(scope.table, scope.scope, now)).toBe(1)
  expect(await removeOldReports(scope.table, scope.scope, now)).toBe(0)
  expect(await listReports(scope.table, scope.scope, 10, 0)).toEqual(expected)
})

it('tells exactly what a scope uses, in one pass and in several', async () => {
  const scope = scopeUnderSweep(engines)
  const random = seededRandom(5)
  const sizes = new Map<string, number>()
  for (let index = 0; index < 40; index++) {
    const text = `${index}`.padEnd(1 + Math.floor(random() * 200))
    sizes.set(await scope.put(text), text.length)
  }
  const expected = { threads: 0, checkpoints: 0, referencedBlobs: 0, referencedBytes: 0, logicalBytes: 0 }
  const used = new Set<string>()
  for (let thread = 0; thread < 7; thread++) {
    const threadId = `thread ${thread}`
    const writer = await scope.checkpoints.acquireWriter(threadId)
    let parent: string | null = null
    for (let sequence = 0; sequence < thread; sequence++) {
      const id = `${thread} ${sequence}`
      const keys = [...sizes.keys()].filter(() => random() < 0.1)
      // A key that stands twice in one checkpoint counts once.
      const checkpoint = checkpointOf(
        threadId,
        id,
        [...keys, ...keys.slice(0, 1), ...sampleKeys(3_000, threadId)],
        parent,
      )
      await scope.checkpoints.append({ checkpoint, expectedHeadId: parent, writer })
      parent = id
      for (const key of keys) {
        used.add(key)
        expected.logicalBytes += sizes.get(key) ?? 0
      }
    }
    expected.threads += thread > 0 ? 1 : 0
    expected.checkpoints += thread
    await writer.release()
  }
  for (const key of used) {
    expected.referencedBlobs += 1
    expected.referencedBytes += sizes.get(key) ?? 0
  }
  const all = [...sizes.values()].reduce((sum, size) => sum + size)
  const unused = { unreferencedBlobs: 40 - used.size, unreferencedBytes: all - expected.referencedBytes }
  for (const maxSlots of [undefined, 4_096]) {
    const usage = await readUsage({ ...engines, ...scope, ...(maxSlots && { maxSlots }) })
    expect(usage).toEqual({ ...expected, ...unused })
  }
  await scope.sweep()
  expect(await readUsage({ ...engines, ...scope })).toEqual({ ...expected, unreferencedBlobs: 0, unreferencedBytes: 0 })
})
