import { describe, expect, it } from 'vitest'
import type { SandboxInstanceRecord, SandboxInstanceStore } from '../src/instances/types.ts'

/** Gives a fresh store that holds nothing. */
export type MakeInstanceStore = () => SandboxInstanceStore | Promise<SandboxInstanceStore>

export interface InstanceStoreCheck {
  name: string
  run(makeStore: MakeInstanceStore): Promise<void>
}

const key = '0123456789abcdef'

const bare: SandboxInstanceRecord = {
  key,
  provider: 'cloud',
  providerSandboxId: 'sandbox-1',
  threadId: 'thread-1',
  updatedAt: 1_767_323_045_678,
}

const full: SandboxInstanceRecord = { ...bare, latestSnapshotId: 'snapshot-1', latestRunId: 'run-1' }

/** The contract of the instance store, a rule at a time. Each check makes a store of its own. */
export const instanceStoreChecks: ReadonlyArray<InstanceStoreCheck> = [
  check('a missing key is null', async (store) => {
    expect(await store.get('missing')).toBeNull()
  }),

  check('a record comes back with all its fields', async (store) => {
    expect(await store.upsert(full)).toBeUndefined()
    expect(await store.get(key)).toEqual(full)
  }),

  check('optional fields that are left out or undefined are absent', async (store) => {
    await store.upsert(bare)
    expect(Object.keys((await store.get(key)) ?? {}).sort()).toEqual(Object.keys(bare).sort())
    await store.upsert({ ...bare, latestSnapshotId: undefined, latestRunId: undefined } as never)
    expect(Object.keys((await store.get(key)) ?? {}).sort()).toEqual(Object.keys(bare).sort())
  }),

  check('upsert replaces the whole record, the optional fields too', async (store) => {
    await store.upsert(full)
    const moved = { ...bare, provider: 'other', providerSandboxId: 'sandbox-2', threadId: 'thread-2', updatedAt: 5 }
    await store.upsert({ ...moved, latestRunId: 'run-2' })
    const withRun = (await store.get(key)) ?? {}
    expect(withRun).toEqual({ ...moved, latestRunId: 'run-2' })
    expect('latestSnapshotId' in withRun).toBe(false)
    await store.upsert({ ...moved, latestSnapshotId: 'snapshot-2' })
    const withSnapshot = (await store.get(key)) ?? {}
    expect(withSnapshot).toEqual({ ...moved, latestSnapshotId: 'snapshot-2' })
    expect('latestRunId' in withSnapshot).toBe(false)
  }),

  check('keys are independent, those like each other too', async (store) => {
    const keys = ['a', 'A', 'a ', 'a/b', 'a#b', 'a%2Fb', 'é', 'e\u0301', '😀', '__proto__', 'x'.repeat(500)]
    for (const [index, each] of keys.entries()) await store.upsert({ ...bare, key: each, updatedAt: index })
    for (const [index, each] of keys.entries()) {
      expect(await store.get(each), each).toEqual({ ...bare, key: each, updatedAt: index })
    }
    await store.delete('a')
    expect(await store.get('a')).toBeNull()
    expect((await store.get('A'))?.key).toBe('A')
  }),

  check('empty strings and fractional times are kept', async (store) => {
    const odd = { ...full, provider: '', latestSnapshotId: '', updatedAt: 0.5 }
    await store.upsert(odd)
    expect(await store.get(key)).toEqual(odd)
  }),

  check('records are copies', async (store) => {
    const given = { ...full }
    await store.upsert(given)
    given.provider = 'spoiled'
    const got = await store.get(key)
    expect(got).toEqual(full)
    if (got !== null) got.provider = 'spoiled'
    expect(await store.get(key)).toEqual(full)
  }),

  check('a deleted record is gone', async (store) => {
    await store.upsert(full)
    expect(await store.delete(key)).toBeUndefined()
    expect(await store.get(key)).toBeNull()
    await store.upsert(bare)
    expect(await store.get(key)).toEqual(bare)
  }),

  check('deleting a missing key is no error', async (store) => {
    expect(await store.delete('missing')).toBeUndefined()
  }),
]

function check(name: string, body: (store: SandboxInstanceStore) => Promise<void>): InstanceStoreCheck {
  return { name, run: async (makeStore) => body(await makeStore()) }
}

/**
 * Defines a vitest suite that an instance store passes when it keeps the contract.
 *
 * @param makeStore gives a fresh, empty store for each call
 */
export function runInstanceStoreConformance(name: string, makeStore: MakeInstanceStore): void {
  describe(`${name}: instance store contract`, () => {
    for (const { name: rule, run } of instanceStoreChecks) it(rule, () => run(makeStore))
  })
}
