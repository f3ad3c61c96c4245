import { describe, expect, it } from 'vitest'
import type { SandboxInstanceRecord, SandboxInstanceStore } from '../../src/instances/types.ts'
import { checkpointStoreChecks, createMemoryInstanceStore, instanceStoreChecks } from '../../testkit/index.ts'
import { entryFaults } from './faults/entry-faults.ts'
import { forkFaults } from './faults/fork-faults.ts'
import { leaseFaults } from './faults/lease-faults.ts'
import { pruneFaults } from './faults/prune-faults.ts'
import { readFaults } from './faults/read-faults.ts'
import { storeFaults } from './faults/store-faults.ts'
import { anyThreadFaults, missingCheckFaults, swapFaults } from './faults/write-faults.ts'

/** A suite is worth what it fails: each of these stores breaks one rule, and at least one check must tell. */

interface NamedCheck<MakeStore> {
  name: string
  run(makeStore: MakeStore): Promise<void>
}

async function firstFailure<MakeStore>(checks: ReadonlyArray<NamedCheck<MakeStore>>, makeStore: MakeStore) {
  for (const { name, run } of checks) {
    try {
      await run(makeStore)
    } catch {
      return name
    }
  }
  return undefined
}

describe.each([
  ['leases', leaseFaults],
  ['entries', entryFaults],
  ['ids, lists, counts and values', readFaults],
  ['appends and deletions', storeFaults],
  ['checks that are missing', missingCheckFaults],
  ['checks in another order', swapFaults],
  ['writers', anyThreadFaults],
  ['forks', forkFaults],
  ['prunes', pruneFaults],
])('the checkpoint suite finds faults of %s', (_, faults) => {
  it.each(faults)('$name', async ({ make }) => {
    expect(await firstFailure(checkpointStoreChecks, (options = {}) => make(options))).toBeDefined()
  })
})

function instanceFault(change: (store: SandboxInstanceStore) => Partial<SandboxInstanceStore>) {
  return () => {
    const store = createMemoryInstanceStore()
    return { ...store, ...change(store) }
  }
}

function keepOld(field: 'latestSnapshotId' | 'latestRunId') {
  return instanceFault((store) => ({
    upsert: async (record) => {
      const old = await store.get(record.key)
      await store.upsert({ ...(old?.[field] !== undefined && { [field]: old[field] }), ...record })
    },
  }))
}

describe('the instance suite finds faults', () => {
  const live = new WeakMap<SandboxInstanceStore, Map<string, SandboxInstanceRecord>>()
  it.each([
    ['a missing key throws', instanceFault((store) => ({ get: async (key) => (await store.get(key)) ?? fail() }))],
    [
      'a missing key is undefined',
      instanceFault((store) => ({ get: async (key) => (await store.get(key)) ?? gone() })),
    ],
    [
      'deleting a missing key throws',
      instanceFault((store) => ({ delete: async (key) => void ((await store.get(key)) ?? fail()) })),
    ],
    ['delete deletes nothing', instanceFault(() => ({ delete: async () => undefined }))],
    ['upsert keeps an old snapshot id', keepOld('latestSnapshotId')],
    ['upsert keeps an old run id', keepOld('latestRunId')],
    [
      'upsert never replaces',
      instanceFault((store) => ({
        upsert: async (record) => ((await store.get(record.key)) === null ? store.upsert(record) : undefined),
      })),
    ],
    ['keys are compared without case', instanceFault((store) => ({ get: (key) => store.get(key.toUpperCase()) }))],
    [
      'absent fields come back as undefined',
      instanceFault((store) => ({
        get: async (key) => {
          const record = await store.get(key)
          return record && ({ latestSnapshotId: undefined, latestRunId: undefined, ...record } as SandboxInstanceRecord)
        },
      })),
    ],
    [
      'empty strings are dropped',
      instanceFault((store) => ({
        get: async (key) => {
          const record = await store.get(key)
          const kept = Object.entries(record ?? {}).filter(([, value]) => value !== '')
          return record && (Object.fromEntries(kept) as unknown as SandboxInstanceRecord)
        },
      })),
    ],
    [
      'records are not copied',
      instanceFault((store) => {
        live.set(store, new Map())
        return {
          get: async (key) => ((await store.get(key)) === null ? null : (live.get(store)?.get(key) ?? null)),
          upsert: async (record) => {
            live.get(store)?.set(record.key, record)
            await store.upsert(record)
          },
        }
      }),
    ],
  ])('%s', async (_, makeStore) => {
    expect(await firstFailure(instanceStoreChecks, makeStore)).toBeDefined()
  })
})

function fail(): never {
  throw new Error('A planted fault')
}

function gone(): null {
  return undefined as unknown as null
}
