import { afterAll, describe, expect } from 'vitest'
import { PageExpiredError } from '../../src/errors.ts'
import { append, grow } from '../../testkit/checkpoints/fixtures.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import { freshStore, ids } from './support/stores.ts'

const engines = await startEngines()
afterAll(engines.stop)

/** Two threads of three checkpoints that have seen the same writes, and the token of the first page of t. */
async function paged() {
  const { store } = freshStore(engines)
  const lease = await store.acquireWriter('t')
  await grow(store, lease, ['a', 'b', 'c'])
  await grow(store, await store.acquireWriter('other'), ['x', 'y', 'z'])
  const first = await store.listPage({ threadId: 't', maxBytes: 1 })
  expect(ids(first.checkpoints)).toEqual(['a'])
  return { store, lease, next: first.next ?? '' }
}

describe('pages of a list', () => {
  check('are in the order of the appends, whatever createdAt says', async () => {
    const { store } = freshStore(engines)
    const lease = await store.acquireWriter('t')
    await append(store, lease, 'late', null, { createdAt: 9 })
    await append(store, lease, 'early', 'late', { createdAt: 1 })
    expect(ids((await store.listPage({ threadId: 't', maxBytes: 1e6 })).checkpoints)).toEqual(['late', 'early'])
  })

  check('of an unknown thread are one that is empty', async () => {
    const { store } = freshStore(engines)
    expect(await store.listPage({ threadId: 'nobody', maxBytes: 1 })).toEqual({ checkpoints: [], next: null })
    expect(await store.listPage({ threadId: 'nobody', after: null, maxBytes: 1 })).toMatchObject({ next: null })
  })

  check('go on where the page before ended, also when asked twice or with another size', async () => {
    const { store, next } = await paged()
    for (let round = 0; round < 2; round++) {
      const second = await store.listPage({ threadId: 't', after: next, maxBytes: 1 })
      expect(ids(second.checkpoints)).toEqual(['b'])
      const last = await store.listPage({ threadId: 't', after: second.next, maxBytes: 1 })
      expect(last).toMatchObject({ checkpoints: [{ id: 'c' }], next: null })
    }
    const rest = await store.listPage({ threadId: 't', after: next, maxBytes: 1e6 })
    expect(rest).toMatchObject({ checkpoints: [{ id: 'b' }, { id: 'c' }], next: null })
  })

  check('go on while the lease changes hands', async () => {
    const { store, lease, next } = await paged()
    await lease.renew()
    await lease.release()
    await store.acquireWriter('t')
    expect(ids((await store.listPage({ threadId: 't', after: next, maxBytes: 1 })).checkpoints)).toEqual(['b'])
  })

  const writes: Array<[string, (subject: Awaited<ReturnType<typeof paged>>) => Promise<unknown>]> = [
    ['append', ({ store, lease }) => append(store, lease, 'd', 'c')],
    ['deleteHead', ({ store, lease }) => store.deleteHead({ threadId: 't', checkpointId: 'c', writer: lease })],
    ['prune', ({ store, lease }) => store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })],
  ]
  for (const [name, write] of writes) {
    check(`expire with ${name}`, async () => {
      const subject = await paged()
      await write(subject)
      const { store, next } = subject
      await expect(store.listPage({ threadId: 't', after: next, maxBytes: 1 })).rejects.toThrow(PageExpiredError)
    })
  }

  check('of another thread, or made up, are refused', async () => {
    const { store, next } = await paged()
    const refused: Array<[threadId: string, token: string]> = [
      ['other', next],
      ['nobody', next],
      ['t', ''],
      ['t', 'x'],
      ['t', '0'],
      ['t', `0${next}`],
      ['t', `${next} `],
      ['t', `${next}\n`],
      ['t', next.replace(/\.\d+\./, '.-1.')],
      ['t', next.replace(/\.\d+\./, '.99999999999999999999.')],
      ['t', '__proto__'],
    ]
    for (const [threadId, after] of refused) {
      await expect(store.listPage({ threadId, after, maxBytes: 1 }), `${threadId} ${after}`).rejects.toMatchObject({
        code: 'page_expired',
        status: 409,
      })
    }
  })
})
