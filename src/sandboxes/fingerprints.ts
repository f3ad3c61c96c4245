import { fingerprintPartition, type Key, sandboxKey } from '../table/keys.ts'
import { NEW_ITEM, type TransactAction, type Update } from '../table/table.ts'
import type { SandboxTable } from './context.ts'
import { readSandbox, type SandboxState, statusAt } from './items.ts'

/**
 * The sandboxes of one fingerprint that may run: an entry each, by their ids, which sort by time, and behind them all
 * one that counts the sandboxes which were made because a reuse found none.
 */

const COUNTER = '~'
/** Of many, the newest is nearly always the one. */
const PAGE = 10

type KeyOf = Pick<SandboxState, 'fingerprint' | 'sandboxId'>
type TableAndScope = Pick<SandboxTable, 'table' | 'scope'>

/** The newest sandbox with the fingerprint that runs or is stopped, and the count under which that holds. */
export async function findReusable(
  { table, scope, now }: SandboxTable,
  fingerprint: string,
): Promise<{ sandbox: SandboxState | undefined; count: number }> {
  let count = 0
  const options = { reverse: true, pageSize: PAGE }
  for await (const entries of table.query(fingerprintPartition(scope, fingerprint), options)) {
    for (const { sk, expiresAt, count: counted } of entries) {
      if (sk === COUNTER) count = counted as number
      else if (expiresAt === undefined || now() < (expiresAt as number)) {
        const item = await table.get(sandboxKey(scope, sk as string))
        const sandbox = item && readSandbox(item)
        if (sandbox && ['running', 'stopped'].includes(statusAt(sandbox, now()))) return { sandbox, count }
      }
    }
  }
  return { sandbox: undefined, count }
}

function entryKey({ scope }: TableAndScope, { fingerprint, sandboxId }: KeyOf): Key {
  return { pk: fingerprintPartition(scope, fingerprint), sk: sandboxId }
}

export function addEntry(context: TableAndScope, sandbox: SandboxState): TransactAction {
  const { expiresAt } = sandbox
  return context.table.transactPut(
    { ...entryKey(context, sandbox), ...(expiresAt !== undefined && { expiresAt }) },
    NEW_ITEM,
  )
}

/** `update`: of the expiry, as of the sandbox. */
export function changeEntry(context: TableAndScope, sandbox: KeyOf, update: Update): TransactAction {
  return context.table.transactUpdate(entryKey(context, sandbox), update)
}

export function removeEntry(context: TableAndScope, sandbox: KeyOf): TransactAction {
  return context.table.transactDelete(entryKey(context, sandbox))
}

/** Counts a sandbox that a reuse makes, if none was counted since `count` was read. */
export function countReuse({ table, scope }: TableAndScope, fingerprint: string, count: number): TransactAction {
  return table.transactUpdate(
    { pk: fingerprintPartition(scope, fingerprint), sk: COUNTER },
    {
      expression: 'SET #count = :next',
      condition: count === 0 ? 'attribute_not_exists(#count)' : '#count = :count',
      names: { '#count': 'count' },
      values: { ':next': count + 1, ...(count > 0 && { ':count': count }) },
    },
  )
}
