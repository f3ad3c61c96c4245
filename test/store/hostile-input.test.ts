import { afterAll, describe, expect, it } from 'vitest'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import { checkAppend } from '../../src/checkpoints/validate.ts'
import { startEngines } from '../support/engines.ts'

const { freshScope, stop, ...engines } = await startEngines()
afterAll(stop)

const plain: SandboxCheckpoint = {
  id: 'a',
  threadId: 't',
  parentCheckpointId: null,
  createdAt: 1,
  reason: 'automatic',
  files: [],
  conversation: [],
  artifacts: [],
}

async function appendOf(make: () => unknown) {
  const store = createCheckpointStore({ ...engines, scope: freshScope() })
  const writer = await store.acquireWriter('t')
  const checkpoint = make() as SandboxCheckpoint
  return { store, appended: store.append({ checkpoint, expectedHeadId: null, writer }) }
}

describe('what is checked is what is stored', () => {
  it('refuses fields that stand on a prototype only', async () => {
    const { store, appended } = await appendOf(() => Object.create(plain))
    await expect(appended).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_INVALID_ID' })
    expect(await store.list('t')).toEqual([])
  })

  it('refuses an entry whose fields are getters of its class', async () => {
    class Entry {
      get path() {
        return 'x'
      }
      get kind() {
        return 'dir'
      }
    }
    const { appended } = await appendOf(() => ({ ...plain, files: [new Entry()] }))
    await expect(appended).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_INVALID_ENTRY' })
  })

  it('asks a getter once', async () => {
    let asked = 0
    const entry = { kind: 'dir', path: '' }
    Object.defineProperty(entry, 'path', { enumerable: true, get: () => (asked++ === 0 ? 'fine' : '../evil') })
    const { store, appended } = await appendOf(() => ({ ...plain, files: [entry] }))
    await appended
    expect((await store.get('a'))?.files).toEqual([{ kind: 'dir', path: 'fine' }])
  })

  it('refuses what cannot be copied, or is nested too deep', async () => {
    const { appended } = await appendOf(() => ({ ...plain, conversation: [() => 1] }))
    await expect(appended).rejects.toThrow()
    let nested: unknown = 'deep'
    for (let level = 0; level < 100_000; level++) nested = [nested]
    const deep = await appendOf(() => ({ ...plain, conversation: [nested] }))
    await expect(deep.appended).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_INVALID_ENTRY' })
  })
})

it('takes time in proportion to the length of paths, not to its square', () => {
  const writer = { threadId: 't', ownerToken: 'o', fence: 1 }
  const files = Array.from({ length: 250 }, (_, index) => ({
    path: `r${index}/${'a/'.repeat(8_000)}f`,
    kind: 'dir' as const,
  }))
  const began = process.cpuUsage()
  checkAppend({ checkpoint: { ...plain, files }, expectedHeadId: null, writer })
  // Some milliseconds; a minute with the square.
  expect(process.cpuUsage(began).user / 1e6).toBeLessThan(10)
})

it('takes no other content for the repeat of a write because of its token', async () => {
  const store = createCheckpointStore({ ...engines, scope: freshScope() })
  const writer = await store.acquireWriter('t')
  const input = { checkpoint: plain, expectedHeadId: null, writer, requestToken: '1' }
  await store.append(input)
  await expect(store.append(input)).resolves.toEqual({ headId: 'a' })
  const other = { ...input, checkpoint: { ...plain, label: 'other' } }
  await expect(store.append(other)).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_DUPLICATE_ID' })
  expect(await store.get('a')).toEqual(plain)
})
