import { afterAll, describe, expect } from 'vitest'
import type { CheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import { append, artifact, checkpoint, file } from '../../testkit/checkpoints/fixtures.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import { freshStore, ids, seededRandom } from './support/stores.ts'

const engines = await startEngines()
afterAll(engines.stop)

/** Text of so many characters that does not compress well. */
function noise(length: number, seed = 1): string {
  const random = seededRandom(seed)
  const bytes = Buffer.alloc(Math.ceil((length * 3) / 4))
  for (let index = 0; index < bytes.length; index++) bytes[index] = random() * 256
  return bytes.toString('base64').slice(0, length)
}

/** Appends, and compares what every read gives. */
async function keep(store: CheckpointStore, fields: Partial<SandboxCheckpoint>, id = 'a'): Promise<void> {
  const lease = await store.acquireWriter('t')
  const head = await store.getHead('t')
  const sent = checkpoint('t', id, head, fields)
  await store.append({ checkpoint: sent, expectedHeadId: head, writer: lease })
  await lease.release()
  expect(await store.getHead('t')).toBe(id)
  expect(await store.get(id)).toEqual(sent)
  expect((await store.list('t')).at(-1)).toEqual(sent)
}

function files(count: number) {
  return Array.from({ length: count }, (_, n) => file(`dir-${n % 100}/file-${n}.ts`, n))
}

describe('a checkpoint', () => {
  for (const count of [1, 100, 5_000, 100_000]) {
    check(`of ${count} files is kept, and each of its keys counts once`, async () => {
      const { store } = freshStore(engines)
      await keep(store, { files: files(count), artifacts: [artifact(1)] })
      const references = await store.listBlobReferences()
      expect(references).toHaveLength(count + 1)
      expect(references.every(({ references: uses }) => uses === 1)).toBe(true)
      const lease = await store.acquireWriter('t')
      await store.deleteHead({ threadId: 't', checkpointId: 'a', writer: lease })
      expect(await store.listBlobReferences()).toEqual([])
    })
  }

  check('of 100,000 files with one content counts it once', async () => {
    const { store } = freshStore(engines)
    await keep(store, { files: files(100_000).map((entry) => ({ ...entry, blobKey: file('f', 1).blobKey })) })
    expect(await store.listBlobReferences()).toEqual([{ key: file('f', 1).blobKey, references: 1 }])
  })

  check('with a conversation of 20 MB is kept', async () => {
    const { store } = freshStore(engines)
    await keep(store, { conversation: [{ role: 'user', content: noise(20_000_000) }] })
  })

  check('with image parts of 300 KB is kept', async () => {
    const { store } = freshStore(engines)
    const part = (seed: number) => ({ type: 'image', data: noise(409_600, seed), mimeType: 'image/png' })
    await keep(store, { conversation: [{ role: 'tool', parts: [part(1), part(2), part(3)] }] })
  })

  for (const length of [256, 257, 10_000, 200_000]) {
    check(`with ids of ${length} characters is kept, forked and deleted`, async () => {
      const { store } = freshStore(engines)
      // The longest encoding in UTF-8, and a common beginning.
      const threadId = '\u20ac'.repeat(length)
      const name = (suffix: string) => '\u20ac'.repeat(length - 1) + suffix
      const lease = await store.acquireWriter(threadId)
      await append(store, lease, name('a'), null)
      await append(store, lease, name('b'), name('a'))
      await append(store, lease, name('c'), name('b'))
      expect(await store.getHead(threadId)).toBe(name('c'))
      expect((await store.acquireWriter('other')).headId).toBeNull()
      expect(await store.get(name('c'))).toEqual(checkpoint(threadId, name('c'), name('b')))
      expect(ids(await store.list(threadId))).toEqual([name('a'), name('b'), name('c')])
      expect(ids((await store.listPage({ threadId, maxBytes: 1 })).checkpoints)).toEqual([name('a')])
      const destination = name('d')
      const writer = await store.acquireWriter(destination)
      await store.forkFromCheckpoint({
        sourceThreadId: threadId,
        sourceCheckpointId: name('b'),
        destinationThreadId: destination,
        destinationCheckpointId: name('e'),
        createdAt: 1,
        writer,
      })
      expect(await store.getHead(destination)).toBe(name('e'))
      await store.deleteHead({ threadId, checkpointId: name('c'), writer: lease })
      expect(await store.deleteCheckpoints({ threadId, keep: 1, writer: lease })).toEqual({ deleted: [name('a')] })
      await lease.release()
      expect((await store.acquireWriter(threadId)).headId).toBe(name('b'))
    })
  }
})

describe('a thread', () => {
  check('whose conversation grows by 8 KB with each of 60 appends keeps them all', async () => {
    const { store } = freshStore(engines)
    const lease = await store.acquireWriter('t')
    const sent: SandboxCheckpoint[] = []
    for (let index = 0; index < 60; index++) {
      const parent = sent.at(-1)
      const conversation = [...(parent?.conversation ?? []), { content: noise(8_000, index) }]
      const next = checkpoint('t', `c-${index}`, parent?.id ?? null, { createdAt: index, conversation })
      await store.append({ checkpoint: next, expectedHeadId: next.parentCheckpointId, writer: lease })
      sent.push(next)
    }
    expect(await store.list('t')).toEqual(sent)
  })

  check('whose checkpoints grow byte by byte across the limit of an item keeps them all', async () => {
    const { store } = freshStore(engines)
    const lease = await store.acquireWriter('t')
    let parent: string | null = null
    for (let length = 5_800; length < 7_000; length += 40) {
      const label = noise(length, length)
      await append(store, lease, `c-${length}`, parent, { createdAt: length, label })
      parent = `c-${length}`
      expect((await store.get(parent))?.label).toBe(label)
    }
    const list = await store.list('t')
    expect(list.map(({ label }) => label?.length)).toEqual(list.map(({ createdAt }) => createdAt))
  })

  check('of 40 checkpoints of 100 KB is listed whole', async () => {
    const { store } = freshStore(engines)
    const lease = await store.acquireWriter('t')
    const sent: SandboxCheckpoint[] = []
    for (let index = 0; index < 40; index++) {
      const next = checkpoint('t', `c-${index}`, sent.at(-1)?.id ?? null, {
        createdAt: index,
        conversation: [{ content: noise(100_000, index) }],
      })
      await store.append({ checkpoint: next, expectedHeadId: next.parentCheckpointId, writer: lease })
      sent.push(next)
    }
    expect(await store.list('t')).toEqual(sent)
  })

  check(
    'of 300 checkpoints, 1.3 MB of items, is listed, paged, counted and pruned whole',
    async () => {
      const { store } = freshStore(engines)
      const lease = await store.acquireWriter('t')
      let parent: string | null = null
      for (let index = 0; index < 300; index++) {
        const id: string = `c-${index}`
        await append(store, lease, id, parent, { createdAt: index, label: noise(5_500, index), files: [file('f', 1)] })
        parent = id
      }
      const list = await store.list('t')
      expect(ids(list)).toEqual(Array.from({ length: 300 }, (_, index) => `c-${index}`))
      for (const maxBytes of [150_000, 1e9]) expect(await allPages(store, 't', maxBytes)).toEqual(list)
      expect(await store.listBlobReferences()).toEqual([{ key: file('f', 1).blobKey, references: 300 }])
      const { deleted } = await store.deleteCheckpoints({ threadId: 't', keep: 250, writer: lease })
      expect(deleted).toEqual(ids(list.slice(0, 50)))
      expect(await store.list('t')).toEqual(list.slice(50))
      expect(await store.listBlobReferences()).toEqual([{ key: file('f', 1).blobKey, references: 250 }])
    },
    { timeout: 240_000 },
  )
})

async function allPages(store: CheckpointStore, threadId: string, maxBytes: number): Promise<SandboxCheckpoint[]> {
  const all: SandboxCheckpoint[] = []
  let after: string | null = null
  do {
    const page: { checkpoints: SandboxCheckpoint[]; next: string | null } = await store.listPage({
      threadId,
      after,
      maxBytes,
    })
    expect(page.checkpoints.length).toBeGreaterThan(0)
    all.push(...page.checkpoints)
    after = page.next
  } while (after !== null)
  return all
}
