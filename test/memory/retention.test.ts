import { DeleteObjectCommand, ListObjectVersionsCommand } from '@aws-sdk/client-s3'
import { afterAll, expect } from 'vitest'
import { memoryObjectPrefix } from '../../src/blobs/object-keys.ts'
import { runScopeSweep } from '../../src/sweep/run.ts'
import { synth } from '../stack/synth.ts'
import { check } from '../store/support/check.ts'
import { startEngines } from '../support/engines.ts'
import { itemsOf } from './support/leftovers.ts'
import { expired, type Rule, rulesOf, type Version } from './support/lifecycle.ts'
import { type Memory, memoryOf } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)

const DAY_MS = 86_400_000
const WEEKS = 10
const RETENTION_DAYS = 30
const rules = rulesOf(synth())

/** The versions of a scope's objects by the simulated time, which the bucket knows nothing of. */
class SimulatedBucket {
  readonly #memory: Memory
  readonly #seen = new Map<string, Version>()

  constructor(memory: Memory) {
    this.#memory = memory
  }

  async versions(): Promise<Version[]> {
    const Prefix = memoryObjectPrefix(this.#memory.scope)
    const { now } = this.#memory.clock
    const listed = await engines.s3.send(new ListObjectVersionsCommand({ Bucket: engines.bucketName, Prefix }))
    return (listed.Versions ?? []).map(({ Key = '', VersionId = '', IsLatest = false }) => {
      const known = this.#seen.get(VersionId) ?? { key: Key, versionId: VersionId, isCurrent: true, writtenAt: now }
      const version = {
        ...known,
        isCurrent: IsLatest,
        ...(!IsLatest && { hiddenAt: known.hiddenAt ?? now }),
      }
      this.#seen.set(VersionId, version)
      return version
    })
  }

  /** What S3 does by its rules, once a day. */
  async applyRules(applied: readonly Rule[]): Promise<void> {
    for (const { key, versionId } of expired(applied, await this.versions(), this.#memory.clock.now)) {
      await engines.s3.send(new DeleteObjectCommand({ Bucket: engines.bucketName, Key: key, VersionId: versionId }))
    }
  }
}

/** Weeks of daily sweeps and rules, in which a task is written to every six days. */
async function simulate(weeks: number, applied: readonly Rule[]) {
  const memory = memoryOf(engines, { retentionSec: RETENTION_DAYS * 86_400 })
  const { attach, clock, put, scope } = memory
  const bucket = new SimulatedBucket(memory)
  await attach('live', 1, 'first')
  await put('live', 2, 'x'.repeat(5_000))
  await attach('left', 1, 'first')
  for (let day = 1; day <= weeks * 7; day++) {
    clock.now += DAY_MS
    if (day % 6 === 0) {
      await attach('live', 3, `day-${day}`)
      await attach('live', 3, 'replaced', `on day ${day}`)
    }
    const request = { scope, id: `day-${day}`, olderThanMs: DAY_MS, dryRun: false, waitMs: 0 }
    await runScopeSweep({ ...engines, now: () => clock.now }, request, () => false)
    await bucket.applyRules(applied)
  }
  return { memory, bucket }
}

check(
  'a task that is written to every six days keeps its first artifact for ten weeks; what was left is gone for good',
  async () => {
    const { memory, bucket } = await simulate(WEEKS, rules)
    const { text, store, scope } = memory
    expect(await text('live', 1, 'first')).toBe('first')
    expect(await store.getTurn({ taskId: 'live', turn: 2 })).toMatchObject({ summaryMd: 'x'.repeat(5_000) })
    for (let day = 6; day <= WEEKS * 7; day += 6) expect(await text('live', 3, `day-${day}`)).toBe(`day-${day}`)
    expect(await text('live', 3, 'replaced')).toBe('on day 66')
    expect(await text('left', 1, 'first')).toBeNull()
    // No bytes are left of the task that has expired, nor of what was replaced: 11 days, the last replacement, and 2.
    const versions = await bucket.versions()
    expect(versions.filter(({ key }) => key.includes('/left/'))).toEqual([])
    expect(versions).toHaveLength(11 + 1 + 2)
    expect((await itemsOf(engines, scope)).filter((key) => key.includes('left'))).toEqual([])
  },
  { timeout: 120_000 },
)

check(
  'a rule by the age of objects would have lost it',
  async () => {
    const byAge = { Id: 'by-age', Status: 'Enabled', Prefix: 'projects/', ExpirationInDays: RETENTION_DAYS }
    const { memory } = await simulate(5, [...rules, byAge])
    expect(await memory.text('live', 1, 'first')).toBeNull()
  },
  { timeout: 120_000 },
)
