import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { userOwner } from '../../src/files/items.ts'
import { createFileRegistry } from '../../src/files/registry.ts'
import { send } from '../store/support/send.ts'
import { startUpstream } from './support/anthropic.ts'
import { killAt } from './support/kill.ts'
import { kept } from './support/leftovers.ts'
import { contentOf, DAY, listed, newFile, start, type World, world } from './support/world.ts'

const engines = await start()
const upstream = await startUpstream()
afterAll(async () => {
  await upstream.stop()
  await engines.stop()
})
beforeEach(() => upstream.files.clear())

type Backend = 's3' | 'anthropic'

/** A write: what is there before it, what it does, and whether it is done. */
interface Write {
  prepare(w: World): Promise<{ run(): Promise<unknown>; isDone(): Promise<boolean> }>
  /** How many files there are when it is done. */
  files: number
}

const writes: Record<string, Write> = {
  create: {
    files: 1,
    prepare: async (w) => ({
      run: () => w.files().create(newFile()),
      isDone: async () => (await listed(w.files())).length === 1,
    }),
  },
  'completion of an upload': {
    files: 1,
    async prepare(w) {
      const { uploadId, request } = await w.files().startUpload({ ...newFile(), sizeBytes: 5 })
      await send(request, Buffer.from('hello'))
      return {
        run: () => w.files().completeUpload(uploadId),
        isDone: async () => (await listed(w.files())).length === 1,
      }
    },
  },
  delete: {
    files: 0,
    async prepare(w) {
      const { id } = await w.files().create(newFile())
      return { run: () => w.files().delete(id), isDone: async () => (await listed(w.files())).length === 0 }
    },
  },
}

const cases = Object.entries(writes).flatMap(([name, write]) =>
  (['s3', 'anthropic'] as const).flatMap((backend) =>
    (['before', 'after'] as const).map((when) => ({ name, write, backend, when })),
  ),
)

describe.each(cases)('a $name with $backend that is killed $when any of its requests', ({ write, backend, when }) => {
  it('is done or not done to every reader, and leaves nothing to the sweep but what that clears', async () => {
    const outcomes = new Set<boolean>()
    for (let at = 1; ; at++) {
      const w = newWorld(backend)
      const { run, isDone } = await write.prepare(w)
      using kill = killAt(engines, at, when)
      await run().catch(() => undefined)
      const wasReached = kill.reached
      kill[Symbol.dispose]()
      const done = await isDone()
      outcomes.add(done)
      await expectWhole(w)
      w.clock.now += 25 * 3_600_000
      await w.sweep()
      expect(await isDone()).toBe(done)
      await expectWhole(w)
      await expectNothingElse(w, backend)
      if (!wasReached) {
        expect(done).toBe(true)
        break
      }
    }
    expect(outcomes).toEqual(new Set([false, true]))
  })
})

function newWorld(backend: Backend): World {
  const w = world(engines, backend === 'anthropic' ? upstream.connection : undefined)
  upstream.clock = w.clock
  upstream.files.clear()
  return w
}

/** What is listed can be got, and has its bytes. */
async function expectWhole(w: World): Promise<void> {
  for (const file of (await w.files().list()).files) {
    expect(await w.files().get(file.id)).toEqual(file)
    if (file.downloadable) expect((await contentOf(w.files(), file.id)).toString()).toBe('hello')
  }
}

/** The table and the stores of bytes have what the list has, and tombstones. */
async function expectNothingElse(w: World, backend: Backend): Promise<void> {
  const ids = (await listed(w.files())).sort()
  const { items, objects } = await kept(engines, w.scope)
  expect(objects.sort()).toEqual(backend === 's3' ? ids : [])
  expect([...upstream.files.keys()].sort()).toEqual(backend === 's3' ? [] : ids)
  expect(items.filter((item) => item.includes(' i#'))).toEqual([])
  const listItems = items.filter((item) => !/ [fi]#/.test(item)).map((item) => item.slice(item.lastIndexOf('#') + 1))
  expect(listItems.sort()).toEqual(ids)
}

describe('a sweep that is killed at any request', () => {
  it.each(['before', 'after'] as const)('%s it, is finished by the next one', async (when) => {
    for (let at = 1; ; at++) {
      const w = newWorld('anthropic')
      const registry = createFileRegistry({
        ...engines,
        scope: w.scope,
        user: userOwner('ann'),
        now: () => w.clock.now,
      })
      await registry.register(upstream.output('a.csv', Buffer.from('hello')), 'user')
      const [keptId] = await listed(w.files())
      await w.files().create(newFile({ expiresInSeconds: 3_600 }))
      await w.files().create(newFile({ fromSandbox: true, expiresInSeconds: 3_600 }))
      const { request } = await w.files().startUpload({ ...newFile(), sizeBytes: 5 })
      await send(request, Buffer.from('hello'))
      w.clock.now += 25 * 3_600_000
      using kill = killAt(engines, at, when)
      await w.sweep().catch(() => undefined)
      const wasReached = kill.reached
      kill[Symbol.dispose]()
      expect(await listed(w.files())).toEqual([keptId])
      expect((await w.sweep()).failures).toEqual([])
      expect(await listed(w.files())).toEqual([keptId])
      expect([...upstream.files.keys()]).toEqual([keptId])
      expect((await kept(engines, w.scope)).objects).toEqual([])
      if (!wasReached) break
    }
  })

  it('in the middle of a list deletes nothing that has a file', async () => {
    const w = newWorld('s3')
    const ids = [await w.files().create(newFile()), await w.files().create(newFile())].map(({ id }) => id)
    w.clock.now += 2 * DAY
    using kill = killAt(engines, 2, 'before')
    const { failures } = await w.sweep()
    kill[Symbol.dispose]()
    expect(failures).toMatchObject([{ key: 'objects' }])
    expect((await kept(engines, w.scope)).objects.sort()).toEqual(ids.sort())
  })
})
