import { test } from 'vitest'

/** Tests that an independent engine fails, with what it does otherwise. */
const CANNOT: { [engine: string]: { [test: string]: string } } = {
  moto: {
    'refuse bytes of another hash': 'does not check checksums',
    'refuse bytes whose size was claimed wrong': 'does not check signatures',
    'refuse to go without any of their headers, or to another key': 'does not check signatures',
    'of one key give no other': 'does not check signatures',
    'of one thread, 32 at once: one takes the lease, and the others are told so':
      'does not carry out writes one by one',
    'of one lease, 32 at once: exactly one wins each head': 'does not carry out writes one by one',
    'of one lease append, delete and prune at once, and each call is done whole or refused':
      'does not carry out writes one by one',
    'of two threads that use one id at once: one wins, the other meets a duplicate':
      'does not carry out writes one by one',
    'fork one checkpoint to one thread at once: one wins; a fork of what is deleted meanwhile is whole or refused':
      'does not carry out writes one by one',
    'append: of many at once on one head, one wins': 'does not carry out writes one by one',
    'leases: of many that acquire at once, one wins': 'does not carry out writes one by one',
    'deleteHead: of many at once, one wins': 'does not carry out writes one by one',
    'each adds its turn: none is lost, and the count is exact': 'does not carry out writes one by one',
    'all make one turn': 'does not carry out writes one by one',
    'each attaches its artifact to one turn, past those that its index holds': 'does not carry out writes one by one',
    'some write and some empty summaries: the newest that there is stays the one that is shown':
      'does not carry out writes one by one',
    'all begin anew a task that has expired: it is one new task': 'does not carry out writes one by one',
    'all get through a table that refuses transactions which meet': 'does not carry out writes one by one',
    'see only states that were while checkpoints are appended, deleted and pruned':
      'shows transactions that are half done',
  },
}

/** A test that every engine must pass, but for those that the engine of SANDKEEP_ENGINE is known not to pass. */
export function check(name: string, run: () => Promise<void> | void, options: { timeout?: number } = {}): void {
  if (CANNOT[process.env.SANDKEEP_ENGINE ?? '']?.[name] === undefined) test(name, options, run)
}
