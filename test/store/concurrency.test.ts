import { afterAll, describe, expect } from 'vitest'
import type { CheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import { PageExpiredError } from '../../src/errors.ts'
import { expectList, expectReferences } from '../../testkit/checkpoints/assertions.ts'
import { append, checkpoint, file, fileKey } from '../../testkit/checkpoints/fixtures.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import { freshStore, ids, outcome, seededRandom, tally } from './support/stores.ts'

const engines = await startEngines()
afterAll(engines.stop)

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

describe('writers', () => {
  check('of one thread, 32 at once: one takes the lease, and the others are told so', async () => {
    const { store } = freshStore(engines)
    for (let round = 1; round <= 4; round++) {
      const leases: Array<Awaited<ReturnType<CheckpointStore['acquireWriter']>>> = []
      const outcomes = await Promise.all(
        range(32).map(() => outcome(store.acquireWriter('t').then((lease) => leases.push(lease)))),
      )
      expect(tally(outcomes)).toEqual({ ok: 1, WRITER_CONFLICT: 31 })
      expect(leases[0]?.fence).toBe(round)
      await leases[0]?.release()
    }
  })

  check('of one lease, 32 at once: exactly one wins each head', async () => {
    const { store } = freshStore(engines)
    const lease = await store.acquireWriter('t')
    const won: string[] = []
    for (let round = 0; round < 5; round++) {
      const head = won.at(-1) ?? null
      const outcomes = await Promise.all(
        range(32).map((writer) => outcome(append(store, lease, `${round}-${writer}`, head, { createdAt: round }))),
      )
      expect(tally(outcomes)).toEqual({ ok: 1, STALE_HEAD: 31 })
      won.push(`${round}-${outcomes.indexOf('ok')}`)
      expect(await store.getHead('t')).toBe(won.at(-1))
    }
    await expectList(store, 't', won)
    for (const id of ['0-0', '0-31', '4-7']) expect((await store.get(id)) !== null).toBe(won.includes(id))
  })

  check('of one lease append, delete and prune at once, and each call is done whole or refused', async () => {
    const { store } = freshStore(engines)
    const lease = await store.acquireWriter('t')
    await append(store, lease, 'a', null, { createdAt: 1 })
    await append(store, lease, 'b', 'a', { createdAt: 2, files: [file('f', 1)] })
    for (let round = 0; round < 5; round++) {
      const [appended, deleted, pruned, renewed] = await Promise.all([
        outcome(append(store, lease, 'c', 'b', { createdAt: 3, files: [file('f', 1)] })),
        outcome(store.deleteHead({ threadId: 't', checkpointId: 'b', writer: lease })),
        outcome(store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })),
        outcome(lease.renew()),
      ])
      expect([pruned, renewed]).toEqual(['ok', 'ok'])
      expect([
        ['ok', 'NOT_HEAD'],
        ['STALE_HEAD', 'ok'],
      ]).toContainEqual([appended, deleted])
      const list = ids(await store.list('t'))
      expect(await store.getHead('t')).toBe(list.at(-1) ?? null)
      await expectReferences(store, countsOf(await store.list('t')))
      // From whatever is left, to a and b again.
      for (const id of list.toReversed()) await store.deleteHead({ threadId: 't', checkpointId: id, writer: lease })
      await append(store, lease, 'a', null, { createdAt: 1 })
      await append(store, lease, 'b', 'a', { createdAt: 2, files: [file('f', 1)] })
    }
  })

  check('of 64 threads that share every blob do not disturb each other, and the counts are exact', async () => {
    const { store } = freshStore(engines)
    const files = range(20).map((n) => file(`f-${n}`, n))
    await Promise.all(
      range(64).map(async (thread) => {
        const lease = await store.acquireWriter(`thread ${thread}`)
        await append(store, lease, `${thread}-a`, null, { files })
        await append(store, lease, `${thread}-b`, `${thread}-a`, { files })
        await append(store, lease, `${thread}-c`, `${thread}-b`, { files })
        if (thread % 2 === 0)
          await store.deleteHead({ threadId: lease.threadId, checkpointId: `${thread}-c`, writer: lease })
        if (thread % 4 === 0) await store.deleteCheckpoints({ threadId: lease.threadId, keep: 1, writer: lease })
        await lease.release()
      }),
    )
    const counts = range(20).map((n): [string, number] => [fileKey(n), 32 * 3 + 16 * 2 + 16])
    await expectReferences(store, counts)
  })

  check('of two threads that use one id at once: one wins, the other meets a duplicate', async () => {
    const { store } = freshStore(engines)
    const [left, right] = [await store.acquireWriter('left'), await store.acquireWriter('right')]
    const heads: { [thread: string]: string | null } = { left: null, right: null }
    for (let round = 0; round < 20; round++) {
      const id = `id ${round}`
      const outcomes = await Promise.all(
        [left, right].map((lease) => outcome(append(store, lease, id, heads[lease.threadId] ?? null))),
      )
      expect(tally(outcomes)).toEqual({ ok: 1, DUPLICATE_ID: 1 })
      const winner = outcomes[0] === 'ok' ? 'left' : 'right'
      heads[winner] = id
      expect((await store.get(id))?.threadId).toBe(winner)
      expect([await store.getHead('left'), await store.getHead('right')]).toEqual([heads.left, heads.right])
    }
  })

  check(
    'fork one checkpoint to one thread at once: one wins; a fork of what is deleted meanwhile is whole or refused',
    async () => {
      const { store } = freshStore(engines)
      const source = await store.acquireWriter('source')
      for (let round = 0; round < 8; round++) {
        await append(store, source, 'a', null, { files: [file('f', 1)] })
        const destination = `destination ${round}`
        const writer = await store.acquireWriter(destination)
        const fork = (id: string) =>
          store.forkFromCheckpoint({
            sourceThreadId: 'source',
            sourceCheckpointId: 'a',
            destinationThreadId: destination,
            destinationCheckpointId: id,
            createdAt: 1,
            writer,
          })
        const [first, second, deleted] = await Promise.all([
          outcome(fork(`${round}-x`)),
          outcome(fork(`${round}-y`)),
          outcome(store.deleteHead({ threadId: 'source', checkpointId: 'a', writer: source })),
        ])
        expect(deleted).toBe('ok')
        const list = await store.list(destination)
        expect([first, second].filter((one) => one === 'ok')).toHaveLength(list.length)
        expect(list.length).toBeLessThanOrEqual(1)
        for (const one of [first, second]) {
          expect(['ok', 'FORK_DESTINATION_NOT_EMPTY', 'FORK_SOURCE_NOT_FOUND']).toContain(one)
        }
        for (const forked of list) expect(forked.files).toEqual([file('f', 1)])
      }
    },
  )
})

function countsOf(list: SandboxCheckpoint[]): Array<[string, number]> {
  const uses = list.filter(({ files }) => files.length > 0).length
  return uses === 0 ? [] : [[fileKey(1), uses]]
}

/**
 * Reads in a loop while the writer works, until it has finished.
 * @returns how often each reader read
 */
async function readWhile(writer: Promise<void>, readers: Array<() => Promise<void>>): Promise<number[]> {
  let working = true
  const reading = readers.map(async (read) => {
    let reads = 0
    for (; working; reads++) await read()
    return reads
  })
  try {
    await writer
  } finally {
    working = false
  }
  return Promise.all(reading)
}

describe('readers', () => {
  /** The n-th checkpoint ever appended; the bodies of some are objects. Its key is its own. */
  function numbered(n: number, parent: number | null): SandboxCheckpoint {
    const random = seededRandom(n)
    const label =
      n % 3 === 0
        ? range(1_000)
            .map(() => random().toString(36))
            .join('')
        : 'small'
    return checkpoint('t', `id ${n}`, parent === null ? null : `id ${parent}`, {
      createdAt: n,
      label,
      files: [file('own', n + 1), file('shared', 0)],
    })
  }

  const numberOf = (id: string | null) => (id === null ? null : Number(id.slice(3)))

  check('see only states that were while checkpoints are appended, deleted and pruned', async () => {
    const { store } = freshStore(engines)
    const random = seededRandom(7)
    const pick = seededRandom(8)
    /** Every chain that the thread has been, as its numbers. One that a write may be about to make is in it already. */
    const chains = new Set<string>([''])
    let chain: number[] = []
    let next = 0
    const become = (numbers: number[]) => {
      chain = numbers
      chains.add(numbers.join())
    }
    const write = async () => {
      const writer = await store.acquireWriter('t')
      for (let step = 0; step < 150; step++) {
        const choice = chain.length === 0 ? 0 : random()
        const head = chain.at(-1) ?? null
        if (choice < 0.6) {
          const added = numbered(next, head)
          become([...chain, next])
          next += 1
          await store.append({ checkpoint: added, expectedHeadId: added.parentCheckpointId, writer })
        } else if (choice < 0.8) {
          become(chain.slice(0, -1))
          await store.deleteHead({ threadId: 't', checkpointId: `id ${head}`, writer })
        } else {
          const keep = 1 + Math.floor(random() * 4)
          const doomed = chain.slice(0, Math.max(0, chain.length - keep))
          become(chain.slice(doomed.length))
          const { deleted } = await store.deleteCheckpoints({ threadId: 't', keep, writer })
          expect(deleted.map(numberOf)).toEqual(doomed)
        }
      }
    }
    const expectChain = (list: SandboxCheckpoint[], how: string) => {
      const numbers = list.map(({ id }) => numberOf(id))
      expect(chains, `${how}: ${numbers.join()}`).toContain(numbers.join())
      for (const one of list) {
        const n = numberOf(one.id) ?? -1
        expect(one).toEqual(numbered(n, numberOf(one.parentCheckpointId)))
      }
    }
    const reads = await readWhile(write(), [
      async () => expectChain(await store.list('t'), 'list'),
      async () => {
        const all: SandboxCheckpoint[] = []
        try {
          let after: string | null = null
          do {
            const page: Awaited<ReturnType<CheckpointStore['listPage']>> = await store.listPage({
              threadId: 't',
              after,
              maxBytes: 3_000,
            })
            all.push(...page.checkpoints)
            after = page.next
          } while (after !== null)
          expectChain(all, 'pages')
        } catch (error) {
          if (!(error instanceof PageExpiredError)) throw error
        }
      },
      async () => {
        const references = await store.listBlobReferences()
        const own = references.filter(({ key }) => key !== fileKey(0))
        const numbers = own.map(({ key }) => Number.parseInt(key.slice(-58), 16) - 1).sort((a, b) => a - b)
        expect(chains, `references: ${numbers.join()}`).toContain(numbers.join())
        expect(own.every(({ references: uses }) => uses === 1)).toBe(true)
        const shared = references.find(({ key }) => key === fileKey(0))?.references ?? 0
        expect(shared).toBe(own.length)
      },
      async () => {
        const head = await store.getHead('t')
        const heads = [...chains].map((numbers) => numbers.split(',').at(-1))
        expect(heads).toContain(head === null ? '' : head.slice(3))
      },
      async () => {
        const n = Math.floor(pick() * (next + 1))
        const one = await store.get(`id ${n}`)
        if (one) expect(one).toEqual(numbered(n, numberOf(one.parentCheckpointId)))
      },
    ])
    for (const count of reads) expect(count).toBeGreaterThan(5)
    await expectList(
      store,
      't',
      chain.map((n) => `id ${n}`),
    )
  })

  check('that have seen a prune see nothing older again, by any read', async () => {
    const { store } = freshStore(engines)
    const lease = await store.acquireWriter('t')
    const all = range(40)
    for (const n of all) {
      const added = numbered(n, n === 0 ? null : n - 1)
      await store.append({ checkpoint: added, expectedHeadId: added.parentCheckpointId, writer: lease })
    }
    let pruned = false
    const counts = { list: 40, references: 40 }
    const seen = (how: keyof typeof counts, count: number) => {
      expect([40, 2]).toContain(count)
      expect(count).toBeLessThanOrEqual(counts[how])
      counts[how] = count
      if (count === 2) pruned = true
    }
    await readWhile(
      store.deleteCheckpoints({ threadId: 't', keep: 2, writer: lease }).then(() => undefined),
      [
        async () => seen('list', (await store.list('t')).length),
        async () => seen('references', (await store.listBlobReferences()).length - 1),
        async () => {
          const before = pruned
          const one = await store.get('id 37')
          if (before) expect(one).toBeNull()
        },
      ],
    )
    expect(pruned).toBe(true)
    await expectList(store, 't', ['id 38', 'id 39'])
  })
})
