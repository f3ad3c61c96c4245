import { randomUUID } from 'node:crypto'
import pMap from 'p-map'
import type { StoreContext } from '../checkpoints/context.ts'
import { getThread } from '../checkpoints/read.ts'
import { LEASE_NAMES } from '../checkpoints/writer.ts'
import { SHARDS, shardPartition, sweepKey, sweepPartition, threadHashOf, threadKey } from '../table/keys.ts'
import { retryTransient } from '../table/transient.ts'
import { leaseEnded, type SeenLease } from './protocol.ts'

export type GraceContext = Pick<StoreContext, 'table' | 'scope' | 'now'>

/** Leases in one item: with some 90 bytes each it stays within DynamoDB's 400 KB an item. */
const LEASES_AN_ITEM = 4_000
const NOTE_PREFIX = 'note#'
const CHECK_CONCURRENCY = 16

/**
 * Notes every lease that is live now: those are what a delete of the pages that were there before has to wait for.
 * @returns the name of the note
 */
export async function noteLeases(context: GraceContext): Promise<string> {
  const { table, scope } = context
  const note = randomUUID()
  let parts = 0
  let leases: SeenLease[] = []
  const write = async (last: boolean): Promise<void> => {
    const part = { ...sweepKey(scope, partKey(note, parts)), leases: JSON.stringify(leases), last }
    await retryTransient(() => table.put(part))
    parts += 1
    leases = []
  }
  for await (const lease of liveLeases(context)) {
    if (leases.length === LEASES_AN_ITEM) await write(false)
    leases.push(lease)
  }
  await write(true)
  return note
}

/**
 * Whether each lease of a note has ended; one that is past its end is taken off its thread. Undefined: the note is not
 * whole, and says nothing.
 */
export async function graceIsOver(context: GraceContext, note: string): Promise<boolean | undefined> {
  const { table, scope } = context
  let parts = 0
  let whole = false
  let over = true
  for await (const items of table.query(sweepPartition(scope), { prefix: `${NOTE_PREFIX}${note}#` })) {
    for (const { sk, leases, last } of items) {
      if (sk !== partKey(note, parts++)) return undefined
      whole = last === true
      const seen = JSON.parse(leases as string) as SeenLease[]
      const ended = await pMap(seen, (lease) => endLease(context, lease), { concurrency: CHECK_CONCURRENCY })
      over &&= !ended.includes(false)
    }
  }
  return whole ? over : undefined
}

/** Removes all notes but those named. A page whose note is gone gets a new one. */
export async function forgetNotes({ table, scope }: GraceContext, kept: ReadonlySet<string>): Promise<void> {
  for await (const items of table.query(sweepPartition(scope), { prefix: NOTE_PREFIX, attributes: ['sk'] })) {
    for (const { sk } of items) {
      const [, note = ''] = (sk as string).split('#')
      if (!kept.has(note)) await retryTransient(() => table.delete(sweepKey(scope, sk as string)))
    }
  }
}

function partKey(note: string, part: number): string {
  return `${NOTE_PREFIX}${note}#${String(part).padStart(6, '0')}`
}

async function* liveLeases({ table, scope }: GraceContext): AsyncGenerator<SeenLease> {
  for (const shard of SHARDS) {
    const attributes = ['sk', 'owner', 'fence']
    for await (const items of table.query(shardPartition(scope, shard), { attributes })) {
      for (const { sk, owner, fence } of items) {
        // One that has expired counts as live: a clock that is behind ours may still let it write.
        if (owner !== undefined) yield { threadHash: threadHashOf(sk as string), fence: fence as number }
      }
    }
  }
}

async function endLease(context: GraceContext, lease: SeenLease): Promise<boolean> {
  const { table, scope, now } = context
  return retryTransient(async () => {
    const thread = await getThread(context, lease.threadHash)
    if (leaseEnded(lease, thread)) return true
    if (!thread || (thread.expiresAt ?? 0) > now()) return false
    const { done } = await table.update(threadKey(scope, lease.threadHash), {
      expression: 'REMOVE #owner, #expiresAt',
      condition: '#owner = :owner AND #fence = :fence AND #expiresAt <= :now',
      names: LEASE_NAMES,
      values: { ':owner': thread.owner, ':fence': lease.fence, ':now': now() },
    })
    return done
  })
}
