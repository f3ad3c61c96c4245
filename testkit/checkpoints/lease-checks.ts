import { expect } from 'vitest'
import type { SandboxCheckpointWriterLease } from '../../src/checkpoints/types.ts'
import { expectRefused, expectUnchanged } from './assertions.ts'
import { check, type Subject } from './check.ts'
import { append, checkpoint, wrong } from './fixtures.ts'

/** Every write of this lease is refused and changes nothing. The thread must be t, its head a. */
async function expectLost({ store }: Subject, lease: SandboxCheckpointWriterLease): Promise<void> {
  await expectUnchanged(store, ['t'], ['b'], async () => {
    await expectRefused('WRITER_LOST', lease.renew(), 'renew')
    const call = { threadId: 't', writer: lease }
    const input = { checkpoint: checkpoint('t', 'b', 'a'), expectedHeadId: 'a', writer: lease }
    await expectRefused('WRITER_LOST', store.append(input), 'append')
    await expectRefused('WRITER_LOST', store.deleteHead({ ...call, checkpointId: 'a' }), 'deleteHead')
    await expectRefused('WRITER_LOST', store.deleteCheckpoints({ ...call, keep: 1 }), 'deleteCheckpoints')
  })
}

export const leaseChecks = [
  check('leases: the first of a thread has fence 1 and ends a lease time from now', async (subject) => {
    const { store, clock, leaseDurationMs, renewAfterMs } = subject
    const lease = await store.acquireWriter('t')
    expect(lease.threadId).toBe('t')
    expect(lease.fence).toBe(1)
    expect(lease.ownerToken).toEqual(expect.stringMatching(/./))
    expect(lease.expiresAt).toBe(clock.now() + leaseDurationMs)
    expect(lease.renewAfterMs).toBe(renewAfterMs)
  }),

  check('leases: each tells the head of the thread as it was when the lease was taken', async ({ store }) => {
    const first = await store.acquireWriter('t')
    expect(first.headId).toBeNull()
    await append(store, first, 'a', null)
    expect(first.headId).toBeNull()
    await first.release()
    expect((await store.acquireWriter('t')).headId).toBe('a')
  }),

  check('leases: one at a time for each thread, and acquireWriter does not wait', async ({ store, clock }) => {
    const lease = await store.acquireWriter('t')
    await expectRefused('WRITER_CONFLICT', store.acquireWriter('t'))
    clock.advance(1)
    await expectRefused('WRITER_CONFLICT', store.acquireWriter('t'))
    const other = await store.acquireWriter('other')
    expect(other.fence).toBe(1)
    expect(other.ownerToken).not.toBe(lease.ownerToken)
    await lease.release()
    await expectRefused('WRITER_CONFLICT', store.acquireWriter('other'))
    const next = await store.acquireWriter('t')
    expect(next.fence).toBe(2)
    expect(next.ownerToken).not.toBe(lease.ownerToken)
  }),

  check('leases: of many that acquire at once, one wins', async ({ store }) => {
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => store.acquireWriter('t')))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') await expectRefused('WRITER_CONFLICT', Promise.reject(outcome.reason))
    }
  }),

  check('leases: one holds until just before expiresAt', async ({ store, clock, leaseDurationMs }) => {
    const lease = await store.acquireWriter('t')
    clock.advance(leaseDurationMs - 1)
    await expectRefused('WRITER_CONFLICT', store.acquireWriter('t'))
    await append(store, lease, 'a', null)
    await append(store, lease, 'b', 'a')
    await store.deleteHead({ threadId: 't', checkpointId: 'b', writer: lease })
    await store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })
    await lease.renew()
  }),

  check('leases: at exactly expiresAt one is lost', async (subject) => {
    const { store, clock, leaseDurationMs } = subject
    const lease = await store.acquireWriter('t')
    await append(store, lease, 'a', null)
    clock.advance(leaseDurationMs)
    await expectLost(subject, lease)
  }),

  check('leases: at exactly expiresAt another is given', async (subject) => {
    const { store, clock, leaseDurationMs } = subject
    const lease = await store.acquireWriter('t')
    await append(store, lease, 'a', null)
    clock.advance(leaseDurationMs)
    const next = await store.acquireWriter('t')
    expect(next.fence).toBe(2)
    await expectLost(subject, lease)
    await append(store, next, 'b', 'a')
  }),

  check('leases: renew counts from now, and the lease shows it', async (subject) => {
    const { store, clock, leaseDurationMs, renewAfterMs } = subject
    const lease = await store.acquireWriter('t')
    const { ownerToken, fence } = lease
    clock.advance(renewAfterMs)
    const expiresAt = clock.now() + leaseDurationMs
    expect(await lease.renew()).toEqual({ expiresAt })
    expect(lease).toMatchObject({ expiresAt, ownerToken, fence })
    clock.advance(leaseDurationMs - 1)
    await append(store, lease, 'a', null)
    await expectRefused('WRITER_CONFLICT', store.acquireWriter('t'))
    clock.advance(1)
    await expectLost(subject, lease)
    expect(lease.expiresAt).toBe(expiresAt)
  }),

  check('leases: a released one is lost', async (subject) => {
    const lease = await subject.store.acquireWriter('t')
    await append(subject.store, lease, 'a', null)
    await lease.release()
    await expectLost(subject, lease)
  }),

  check('leases: releasing again, late or after a takeover is harmless', async ({ store, clock, leaseDurationMs }) => {
    const first = await store.acquireWriter('t')
    await first.release()
    expect(await first.release()).toBeUndefined()
    const second = await store.acquireWriter('t')
    await first.release()
    await expectRefused('WRITER_CONFLICT', store.acquireWriter('t'), 'a stale release ended the lease')
    clock.advance(leaseDurationMs)
    expect(await second.release()).toBeUndefined()
    const third = await store.acquireWriter('t')
    await second.release()
    await append(store, third, 'a', null)
    await third.release()
    await third.release()
  }),

  check('leases: fences grow for ever, through release, expiry and an empty thread', async (subject) => {
    const { store, clock, leaseDurationMs } = subject
    const fences: number[] = []
    for (let round = 0; round < 4; round += 1) {
      const lease = await store.acquireWriter('t')
      fences.push(lease.fence)
      await append(store, lease, 'a', null)
      await store.deleteHead({ threadId: 't', checkpointId: 'a', writer: lease })
      if (round % 2 === 0) await lease.release()
      else clock.advance(leaseDurationMs * 1_000_000)
    }
    expect(fences).toEqual([1, 2, 3, 4])
  }),

  check('leases: a plain object with the three values writes as the lease does', async ({ store }) => {
    const { threadId, ownerToken, fence } = await store.acquireWriter('t')
    const writer = { threadId, ownerToken, fence }
    await append(store, writer, 'a', null)
    await append(store, writer, 'b', 'a')
    await store.deleteCheckpoints({ threadId, keep: 1, writer })
    await store.deleteHead({ threadId, checkpointId: 'b', writer })
    expect(await store.getHead('t')).toBeNull()
  }),

  check('leases: the token and the fence are each compared, by value and type', async (subject) => {
    const { store } = subject
    const lease = await store.acquireWriter('t')
    await append(store, lease, 'a', null)
    const { threadId, ownerToken, fence } = lease
    const writer = { threadId, ownerToken, fence }
    const lost = [
      { ...writer, ownerToken: `${ownerToken}x` },
      { ...writer, ownerToken: '' },
      { ...writer, ownerToken: wrong<string>(undefined) },
      { ...writer, fence: fence + 1 },
      { ...writer, fence: fence - 1 },
      { ...writer, fence: wrong<number>(String(fence)) },
      { ...writer, fence: wrong<number>(undefined) },
      { threadId: 'never leased', ownerToken, fence },
    ]
    await expectUnchanged(store, ['t'], ['b'], async () => {
      for (const bad of lost) {
        const what = JSON.stringify(bad)
        const input = { checkpoint: checkpoint('t', 'b', 'a'), expectedHeadId: 'a', writer: bad }
        await expectRefused('WRITER_LOST', store.append(input), what)
        await expectRefused('WRITER_LOST', store.deleteHead({ threadId, checkpointId: 'a', writer: bad }), what)
        await expectRefused('WRITER_LOST', store.deleteCheckpoints({ threadId, keep: 1, writer: bad }), what)
      }
    })
    await append(store, writer, 'b', 'a')
  }),

  check('leases: every lease of a thread is told apart from the one before it', async ({ store }) => {
    const old = await store.acquireWriter('t')
    await old.release()
    const current = await store.acquireWriter('t')
    const write = (writer: { ownerToken: string; fence: number }) =>
      store.append({
        checkpoint: checkpoint('t', 'a', null),
        expectedHeadId: null,
        writer: { threadId: 't', ...writer },
      })
    await expectRefused('WRITER_LOST', write({ ownerToken: current.ownerToken, fence: old.fence }), 'old fence')
    await expectRefused('WRITER_LOST', write({ ownerToken: old.ownerToken, fence: current.fence }), 'old token')
    await write(current)
  }),
]
