import { expect } from 'vitest'
import { expectList, expectReferences } from './assertions.ts'
import { check } from './check.ts'
import { append, artifact, artifactKey, checkpoint, file, fileKey } from './fixtures.ts'

export const readChecks = [
  check('reads: what is unknown is null or empty', async ({ store }) => {
    expect(await store.get('unknown')).toBeNull()
    expect(await store.getHead('unknown')).toBeNull()
    expect(await store.list('unknown')).toEqual([])
    expect(await store.listBlobReferences()).toEqual([])
    // A lease alone makes no checkpoint.
    await store.acquireWriter('leased')
    expect(await store.getHead('leased')).toBeNull()
    expect(await store.list('leased')).toEqual([])
  }),

  check('list: by createdAt as numbers', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const times = [10, 9, 1e300, -1e300, 0.5, -0.5, 0.25, 5e-324, 1_700_000_000_000, -20, 1.5]
    let parent: string | null = null
    for (const [index, createdAt] of times.entries()) {
      await append(store, writer, `c${index}`, parent, { createdAt })
      parent = `c${index}`
    }
    const seen = (await store.list('t')).map(({ createdAt }) => createdAt)
    expect(seen).toEqual(times.toSorted((a, b) => a - b))
  }),

  check('list: equal times by the UTF-8 bytes of the id, where 0 and -0 are equal', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    // U+FF5E stands before U+1F600 in UTF-8, and behind it in UTF-16 code units.
    const sorted = ['B', 'a', 'a\0', 'ab', 'é', '～', '😀']
    let parent: string | null = null
    for (const [index, id] of sorted.toReversed().entries()) {
      await append(store, writer, id, parent, { createdAt: index % 2 === 0 ? 0 : -0 })
      parent = id
    }
    await expectList(store, 't', sorted)
    expect(await store.getHead('t')).toBe('B')
  }),

  check(
    'references: one for each checkpoint that uses the key, over all threads, by the bytes of the key',
    async ({ store }) => {
      const one = await store.acquireWriter('one')
      const two = await store.acquireWriter('two')
      await append(store, one, 'a', null, {
        files: [file('x', 0xf), file('y', 2), file('z', 2), { path: 'd', kind: 'dir' }],
        artifacts: [artifact(2), artifact(2, 'again'), artifact(1)],
      })
      await append(store, one, 'b', 'a', {
        files: [file('x', 2), { path: 'l', kind: 'symlink', target: fileKey(9) }],
      })
      await append(store, two, 'c', null, { files: [file('x', 1), file('y', 2)], artifacts: [artifact(1)] })
      await expectReferences(store, [
        [artifactKey(1), 2],
        [artifactKey(2), 1],
        [fileKey(1), 1],
        [fileKey(2), 3],
        [fileKey(0xf), 1],
      ])
    },
  ),
]

export const sizeChecks = [
  check('sizes: many files with many keys come back whole and are counted', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const files = Array.from({ length: 2_000 }, (_, n) => file(`src/module-${n % 40}/file-${n}.ts`, n))
    const conversation = Array.from({ length: 200 }, (_, n) => ({ role: 'user', content: `message ${n} `.repeat(40) }))
    await append(store, writer, 'large', null, { files, conversation })
    await append(store, writer, 'larger', 'large', { files: [...files, file('one more', 2_000)] })
    expect(await store.get('large')).toEqual(checkpoint('t', 'large', null, { files, conversation }))
    await expectList(store, 't', ['large', 'larger'])
    await expectReferences(
      store,
      Array.from({ length: 2_001 }, (_, n): [string, number] => [fileKey(n), n < 2_000 ? 2 : 1]).sort(([a], [b]) =>
        a < b ? -1 : 1,
      ),
    )
  }),
]
