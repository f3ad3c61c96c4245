import type { CommitGuards } from '../checkpoints/commit.ts'
import { sandboxKey, snapshotKey, workspaceKey as workspaceItemKey } from '../table/keys.ts'
import { NEW_ITEM, type TransactAction, type Update } from '../table/table.ts'
import { TransientError } from '../table/transient.ts'
import type { SandboxContext } from './context.ts'
import { readSandbox, type SandboxState, type SnapshotItem, snapshotAttributes } from './items.ts'
import { sandboxNotFound, snapshotRecord } from './read.ts'
import type { SnapshotName, SnapshotRecord } from './types.ts'

/** How many saves of late a sandbox knows by their tokens. */
const RECENT_SAVES = 16

/** The save was made before, by an earlier sending of the same request. */
export class SavedBeforeError extends Error {
  override readonly name = 'SavedBeforeError'
  readonly snapshotSeq: number

  constructor(snapshotSeq: number) {
    super('The snapshot was saved before.')
    this.snapshotSeq = snapshotSeq
  }
}

interface Save {
  snapshot: Pick<SnapshotItem, 'sandboxId' | 'checkpointId' | 'createdAt' | 'reason'> & { label: string | undefined }
  token: string | undefined
  /** What the pointer has to name for it to move; null: nothing, undefined: anything. */
  ifLatest: SnapshotName | null | undefined
  /** @throws ConflictError */
  checkMaySave: (sandbox: SandboxState) => void
}

/**
 * What a save writes beside the checkpoint: the sandbox's head, the snapshot, and the workspace key's latest pointer,
 * unless a newer sandbox of the key has saved already. When the sandbox turns out to have changed, the next attempt goes
 * by what it is now.
 */
export class Saving implements CommitGuards {
  readonly #context: SandboxContext
  readonly #save: Save
  #sandbox: SandboxState
  #movesPointer: boolean

  constructor(context: SandboxContext, sandbox: SandboxState, save: Save) {
    this.#context = context
    this.#sandbox = sandbox
    this.#save = save
    this.#movesPointer = sandbox.workspaceKey !== undefined
  }

  readonly actions = (): TransactAction[] => {
    const { table, scope } = this.#context
    const snapshot = this.#snapshot()
    const { sandboxId, snapshotSeq } = snapshot
    return [
      table.transactUpdate(sandboxKey(scope, sandboxId), this.#headUpdate(snapshot)),
      table.transactPut({ ...snapshotKey(scope, sandboxId, snapshotSeq), ...snapshotAttributes(snapshot) }, NEW_ITEM),
      ...this.#pointerActions(snapshot),
    ]
  }

  readonly refused: CommitGuards['refused'] = ([head, _snapshot, pointer]) => {
    if (pointer) this.#movesPointer = false
    if (head) {
      if (!head.item) return sandboxNotFound()
      const sandbox = readSandbox(head.item)
      const landed = sandbox.recentSaves.find(({ token }) => token === this.#save.token)
      if (landed) return new SavedBeforeError(landed.snapshotSeq)
      this.#save.checkMaySave(sandbox)
      this.#sandbox = sandbox
    }
    return new TransientError('The sandbox was saved at the same time.')
  }
  /** The snapshot that the last attempt wrote. */
  record(): SnapshotRecord {
    return snapshotRecord(this.#snapshot(), this.#movesPointer)
  }

  #snapshot(): SnapshotItem {
    const { label, ...snapshot } = this.#save.snapshot
    const { snapshotSeq, workspaceKey } = this.#sandbox
    return {
      ...snapshot,
      ...(label !== undefined && { label }),
      snapshotSeq: snapshotSeq + 1,
      ...(workspaceKey !== undefined && { workspaceKey }),
      pins: 0,
    }
  }

  #headUpdate({ snapshotSeq, checkpointId, createdAt }: SnapshotItem): Update {
    const { snapshotSeq: before, status, recentSaves } = this.#sandbox
    const { token } = this.#save
    const saves = token === undefined ? recentSaves : [...recentSaves, { token, snapshotSeq }].slice(-RECENT_SAVES)
    return {
      expression: 'SET #seq = :seq, #checkpointId = :checkpointId, #updatedAt = :updatedAt, #saves = :saves',
      condition: '#seq = :before AND #status = :status AND attribute_not_exists(#purging)',
      names: {
        ...{ '#seq': 'seq', '#checkpointId': 'checkpointId', '#updatedAt': 'updatedAt', '#saves': 'saves' },
        ...{ '#status': 'status', '#purging': 'purging' },
      },
      values: {
        ...{ ':seq': snapshotSeq, ':checkpointId': checkpointId, ':updatedAt': createdAt },
        ...{ ':saves': JSON.stringify(saves), ':before': before, ':status': status },
      },
    }
  }

  #pointerActions({ sandboxId, snapshotSeq, checkpointId, workspaceKey }: SnapshotItem): TransactAction[] {
    const { table, scope } = this.#context
    const { order } = this.#sandbox
    if (!this.#movesPointer || workspaceKey === undefined) return []
    const latest = { latestSandbox: sandboxId, latestSeq: snapshotSeq, latestId: checkpointId, latestOrder: order }
    const names = Object.keys(latest)
    const { ifLatest } = this.#save
    const update = {
      expression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
      condition: pointerCondition(ifLatest),
      names: Object.fromEntries(names.map((name) => [`#${name}`, name])),
      values: {
        ...Object.fromEntries(Object.entries(latest).map(([name, value]) => [`:${name}`, value])),
        ...(ifLatest && { ':beforeSandbox': ifLatest.sandboxId, ':beforeSeq': ifLatest.snapshotSeq }),
      },
    }
    return [table.transactUpdate(workspaceItemKey(scope, workspaceKey), update)]
  }
}

/** That no newer sandbox has saved, and that the pointer names what it is to name. */
function pointerCondition(ifLatest: SnapshotName | null | undefined): string {
  if (ifLatest === null) return 'attribute_not_exists(#latestOrder)'
  if (ifLatest) {
    return '#latestSandbox = :beforeSandbox AND #latestSeq = :beforeSeq AND #latestOrder <= :latestOrder'
  }
  return 'attribute_not_exists(#latestOrder) OR #latestOrder <= :latestOrder'
}
