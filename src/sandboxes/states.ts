import { randomUUID } from 'node:crypto'
import { ConflictError, ForbiddenError } from '../errors.ts'
import { sandboxKey } from '../table/keys.ts'
import type { Condition, Update } from '../table/table.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import type { SandboxTable } from './context.ts'
import { changeEntry, removeEntry } from './fingerprints.ts'
import { readSandbox, type SandboxState, sandboxRecord, statusAt } from './items.ts'
import { findSandbox, sandboxNotFound } from './read.ts'
import type { SandboxRecord, SandboxStatus } from './types.ts'

/** Changes of a sandbox's state. Each decides on what it reads, and writes on condition that it still holds. */

/** Stopping or starting what is so already changes nothing. @throws NotFoundError, ConflictError */
export async function setRunning(
  context: SandboxTable,
  sandboxId: string,
  status: 'running' | 'stopped',
): Promise<SandboxRecord> {
  return retryTransient(async () => {
    const now = context.now()
    const sandbox = await findLive(context, sandboxId, now)
    if (sandbox.status === status) return sandboxRecord(sandbox, now)
    const { table, scope } = context
    const { condition, names, values } = isLive(now)
    const { done, item } = await table.update(sandboxKey(scope, sandboxId), {
      expression: 'SET #status = :next, #updatedAt = :now',
      condition,
      names: { ...names, '#updatedAt': 'updatedAt' },
      values: { ...values, ':next': status },
    })
    if (!done || !item) throw new TransientError('The sandbox changed at the same time.')
    return sandboxRecord(readSandbox(item), now)
  })
}

/** @throws NotFoundError, ConflictError */
export async function renewSandbox(
  context: SandboxTable,
  sandboxId: string,
  ttlSeconds: number | undefined,
): Promise<SandboxRecord> {
  return retryTransient(async () => {
    const now = context.now()
    const sandbox = await findLive(context, sandboxId, now)
    const { table, scope } = context
    const { expiresAt: _before, ...kept } = sandbox
    const expiry = ttlSeconds === undefined ? {} : { expiresAt: now + ttlSeconds * 1000 }
    const { condition, names, values } = isLive(now)
    const update: Update = {
      expression: `${ttlSeconds === undefined ? 'SET' : 'SET #expiresAt = :expiresAt,'} #updatedAt = :now${
        ttlSeconds === undefined ? ' REMOVE #expiresAt' : ''
      }`,
      condition,
      names: { ...names, '#updatedAt': 'updatedAt' },
      values: { ...values, ...(expiry.expiresAt !== undefined && { ':expiresAt': expiry.expiresAt }) },
    }
    const entry = changeEntry(context, sandbox, entryExpiry(expiry.expiresAt))
    const actions = [table.transactUpdate(sandboxKey(scope, sandboxId), update), entry]
    const result = await table.transact(actions, randomUUID())
    if (!result.done) throw new TransientError('The sandbox changed at the same time.')
    return sandboxRecord({ ...kept, ...expiry, updatedAt: now }, now)
  })
}

function entryExpiry(expiresAt: number | undefined): Update {
  return {
    expression: expiresAt === undefined ? 'REMOVE #expiresAt' : 'SET #expiresAt = :expiresAt',
    condition: 'attribute_exists(pk)',
    names: { '#expiresAt': 'expiresAt' },
    values: expiresAt === undefined ? {} : { ':expiresAt': expiresAt },
  }
}

/** @throws NotFoundError, ForbiddenError */
export async function destroySandbox(
  context: SandboxTable,
  sandboxId: string,
  mayDestroy: (sandbox: SandboxRecord) => boolean,
): Promise<void> {
  await retryTransient(async () => {
    const now = context.now()
    const sandbox = await findSandbox(context, sandboxId)
    if (!sandbox) throw sandboxNotFound()
    if (!mayDestroy(sandboxRecord(sandbox, now))) {
      throw new ForbiddenError('A sandbox is destroyed by who created it, or by an administrator of the project.')
    }
    if (sandbox.status === 'destroyed') return
    if (!(await end(context, sandbox, 'destroyed', now, now))) {
      throw new TransientError('The sandbox changed at the same time.')
    }
  })
}

/** Makes the expiry of a sandbox final. @returns false when it changed since it was read */
export function finalizeExpiry(context: SandboxTable, sandbox: SandboxState, expiresAt: number): Promise<boolean> {
  return end(context, sandbox, 'expired', expiresAt, sandbox.updatedAt)
}

async function end(
  context: SandboxTable,
  sandbox: SandboxState,
  status: SandboxStatus,
  endedAt: number,
  updatedAt: number,
): Promise<boolean> {
  const { table, scope } = context
  const expiry = sandbox.expiresAt
  const update: Update = {
    expression: 'SET #status = :next, #endedAt = :endedAt, #updatedAt = :updatedAt',
    condition: `#status = :status AND attribute_not_exists(#purging) AND ${
      expiry === undefined ? 'attribute_not_exists(#expiresAt)' : '#expiresAt = :expiresAt'
    }`,
    names: {
      ...{ '#status': 'status', '#purging': 'purging', '#endedAt': 'endedAt' },
      ...{ '#updatedAt': 'updatedAt', '#expiresAt': 'expiresAt' },
    },
    values: {
      ...{ ':next': status, ':endedAt': endedAt, ':updatedAt': updatedAt, ':status': sandbox.status },
      ...(expiry !== undefined && { ':expiresAt': expiry }),
    },
  }
  const actions = [table.transactUpdate(sandboxKey(scope, sandbox.sandboxId), update), removeEntry(context, sandbox)]
  return (await table.transact(actions, randomUUID())).done
}

/** @throws NotFoundError, ConflictError naming the state of one that is expired or destroyed */
async function findLive(context: SandboxTable, sandboxId: string, now: number): Promise<SandboxState> {
  const sandbox = await findSandbox(context, sandboxId)
  if (!sandbox) throw sandboxNotFound()
  const status = statusAt(sandbox, now)
  if (status === 'expired' || status === 'destroyed') throw hasEnded(status)
  return sandbox
}

export function hasEnded(status: 'expired' | 'destroyed', more = ''): ConflictError {
  return new ConflictError(`sandbox_${status}`, `The sandbox is ${status}${more}.`)
}

/** The condition, on a sandbox item, that it is neither expired nor destroyed. */
function isLive(now: number): Condition {
  return {
    condition: '#status IN (:running, :stopped) AND (attribute_not_exists(#expiresAt) OR #expiresAt > :now)',
    names: { '#status': 'status', '#expiresAt': 'expiresAt' },
    values: { ':running': 'running', ':stopped': 'stopped', ':now': now },
  }
}
