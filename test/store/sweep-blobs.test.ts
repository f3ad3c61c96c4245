import { createHash } from 'node:crypto'
import { afterAll, describe, expect } from 'vitest'
import { createBlobStore } from '../../src/blobs/store.ts'
import { SweepIncompleteError, sweepSandboxBlobs } from '../../src/sweep/sweep-blobs.ts'
import { append, artifact, artifactKey, file, fileKey } from '../../testkit/checkpoints/fixtures.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import { freshStore } from './support/stores.ts'

const engines = await startEngines()
afterAll(engines.stop)

const NOW = 1_000_000

/** Blobs and references as plain data, and a log of the calls. */
class Shelf {
  readonly log: string[] = []
  readonly listed: Array<{ key: string; uploadedAt: number }>
  references: Array<{ key: string; references: number }> = []
  failingDeletes = new Set<string>()

  constructor(listed: Array<{ key: string; uploadedAt: number }>) {
    this.listed = listed
  }

  readonly input = {
    now: () => NOW,
    checkpoints: {
      listBlobReferences: async () => {
        this.log.push('references')
        return this.references
      },
    },
    blobs: {
      list: async (prefix: string) => {
        this.log.push(`list ${prefix}`)
        return this.listed.filter(({ key }) => key.startsWith(prefix))
      },
      delete: async (key: string) => {
        this.log.push(`delete ${key}`)
        if (this.failingDeletes.has(key)) throw new Error(`injected ${key}`)
      },
    },
  }

  get deletes(): string[] {
    return this.log.filter((line) => line.startsWith('delete '))
  }
}

const old = (key: string) => ({ key, uploadedAt: 0 })

describe('the sweep', () => {
  check('takes what is strictly older and unused, of files and artifacts, in listing order', async () => {
    const shelf = new Shelf([
      { key: fileKey(9), uploadedAt: NOW - 101 },
      { key: fileKey(1), uploadedAt: NOW - 100 },
      { key: fileKey(2), uploadedAt: NOW - 99 },
      { key: fileKey(3), uploadedAt: NOW + 5 },
      old(fileKey(4)),
      old(artifactKey(4)),
      old(artifactKey(5)),
      old('elsewhere/1'),
    ])
    shelf.references = [{ key: artifactKey(4), references: 1 }]
    expect(await sweepSandboxBlobs({ ...shelf.input, olderThanMs: 100 })).toEqual([
      fileKey(9),
      fileKey(4),
      artifactKey(5),
    ])
    expect(shelf.deletes).toHaveLength(3)
  })

  check('lists all blobs before it reads the references, and reads those before it deletes', async () => {
    const shelf = new Shelf([old(fileKey(1))])
    await sweepSandboxBlobs({ ...shelf.input, olderThanMs: 0 })
    expect(shelf.log).toEqual(['list sandbox-files/', 'list sandbox-artifacts/', 'references', `delete ${fileKey(1)}`])
  })

  check('never takes what a list answers outside of its prefix', async () => {
    const shelf = new Shelf([])
    const input = { ...shelf.input, blobs: { ...shelf.input.blobs, list: async () => [old('blobs/other')] } }
    expect(await sweepSandboxBlobs({ ...input, olderThanMs: 0 })).toEqual([])
  })

  check('stops before it deletes when a list or the references fail', async () => {
    const shelf = new Shelf([old(fileKey(1)), old(artifactKey(1))])
    const failing = async () => {
      throw new Error('injected')
    }
    const secondList = async (prefix: string) =>
      prefix === 'sandbox-files/' ? [old(fileKey(1))] : Promise.reject(new Error('injected'))
    const inputs = [
      { ...shelf.input, blobs: { ...shelf.input.blobs, list: failing } },
      { ...shelf.input, blobs: { ...shelf.input.blobs, list: secondList } },
      { ...shelf.input, checkpoints: { listBlobReferences: failing } },
    ]
    for (const input of inputs) {
      await expect(sweepSandboxBlobs({ ...input, olderThanMs: 0 })).rejects.toThrow('injected')
    }
    expect(shelf.deletes).toEqual([])
  })

  check('tries all deletes, and tells those that failed and those that did not', async () => {
    const shelf = new Shelf([1, 2, 3, 4].map((n) => old(fileKey(n))))
    shelf.failingDeletes = new Set([fileKey(1), fileKey(3)])
    const error = await sweepSandboxBlobs({ ...shelf.input, olderThanMs: 0 }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SweepIncompleteError)
    expect(error).toMatchObject({
      deleted: [fileKey(2), fileKey(4)],
      failures: [{ key: fileKey(1) }, { key: fileKey(3) }],
    })
    expect(shelf.deletes).toHaveLength(4)
  })

  check('takes hundreds of thousands of blobs', async () => {
    const shelf = new Shelf(Array.from({ length: 300_000 }, (_, n) => old(fileKey(n))))
    expect(await sweepSandboxBlobs({ ...shelf.input, olderThanMs: 0 })).toHaveLength(300_000)
  })

  check('needs an age of at least 0', async () => {
    const shelf = new Shelf([old(fileKey(1))])
    for (const olderThanMs of [-1, Number.NaN, undefined as unknown as number]) {
      await expect(sweepSandboxBlobs({ ...shelf.input, olderThanMs })).rejects.toThrow(RangeError)
    }
    expect(await sweepSandboxBlobs({ ...shelf.input, olderThanMs: Number.POSITIVE_INFINITY })).toEqual([])
    expect(shelf.deletes).toEqual([])
  })

  check('frees the blobs of deleted checkpoints, and of no other scope', async () => {
    const { store, scope } = freshStore(engines)
    const neighbour = freshStore(engines)
    const blobs = createBlobStore({ ...engines, scope })
    const others = createBlobStore({ ...engines, scope: neighbour.scope })
    const keys: string[] = []
    for (const text of ['kept', 'shared', 'gone', 'never used']) {
      const key = `sandbox-files/sha256/${createHash('sha256').update(text).digest('hex')}`
      keys.push(key)
      await blobs.put(key, Buffer.from(text))
      await others.put(key, Buffer.from(text))
    }
    const [kept = '', shared = '', gone = '', unused = ''] = keys
    const lease = await store.acquireWriter('t')
    const entry = (path: string, blobKey: string) => ({ ...file(path), blobKey })
    await append(store, lease, 'a', null, { files: [entry('x', gone), entry('y', shared)], artifacts: [artifact(1)] })
    await append(store, lease, 'b', 'a', { files: [entry('x', kept), entry('y', shared)] })
    await store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })
    await lease.release()
    const deleted = await sweepSandboxBlobs({
      checkpoints: store,
      blobs,
      olderThanMs: 0,
      now: () => Date.now() + 60_000,
    })
    expect(deleted).toEqual([gone, unused].sort())
    expect((await blobs.list('')).map(({ key }) => key)).toEqual([kept, shared].sort())
    expect(await others.list('')).toHaveLength(4)
  })
})
