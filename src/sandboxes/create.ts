import { randomUUID } from 'node:crypto'
import { uuidv7 } from 'uuidv7'
import { NotFoundError } from '../errors.ts'
import {
  sandboxKey,
  scopeKey,
  snapshotKey,
  workspaceKey as workspaceItemKey,
  workspaceSandboxKey,
} from '../table/keys.ts'
import { NEW_ITEM, type TransactAction } from '../table/table.ts'
import { CONTENDED_ATTEMPTS, retryTransient, TransientError } from '../table/transient.ts'
import type { SandboxTable } from './context.ts'
import { addEntry, countReuse, findReusable } from './fingerprints.ts'
import {
  readSandbox,
  readWorkspace,
  type SandboxState,
  type SnapshotPlace,
  sandboxAttributes,
  sandboxRecord,
  type WorkspaceState,
} from './items.ts'
import { findSnapshot, getWorkspace } from './read.ts'
import type { CreateSandboxInput, SandboxRecord, SandboxSource } from './types.ts'
import { fingerprintOf, type Origin, originOf, workspaceKeyOf } from './validate.ts'

/**
 * Where there is something to begin from it takes three requests to DynamoDB, or fewer, and a fourth with `reuse` when the
 * sandbox has a key and the source is not just the latest of that key: then the sandbox to reuse, the source and the place
 * in the key's order are each asked for by themselves. One more it takes for a snapshot that is kept though its sandbox is not.
 * @throws InvalidInputError, NotFoundError
 */
export async function createSandbox(
  context: SandboxTable,
  input: CreateSandboxInput,
): Promise<{ sandbox: SandboxRecord; reused: boolean }> {
  const key = workspaceKeyOf(input)
  const origin = input.source && originOf(input.source, key)
  // One id for all attempts: one whose answer was lost is found to have landed.
  const creating = { input, key, origin, fingerprint: fingerprintOf(input, key), sandboxId: uuidv7() }
  const { state, reused } = await retryTransient(() => tryCreate(context, creating))
  return { sandbox: sandboxRecord(state, context.now()), reused }
}

interface Creating {
  input: CreateSandboxInput
  key: string | undefined
  origin: Origin | undefined
  fingerprint: string
  sandboxId: string
}

async function tryCreate(context: SandboxTable, creating: Creating): Promise<{ state: SandboxState; reused: boolean }> {
  const { table, scope } = context
  const { input, key, origin, fingerprint, sandboxId } = creating
  const reusable = input.reuse ? await findReusable(context, fingerprint) : undefined
  if (reusable?.sandbox) return { state: reusable.sandbox, reused: reusable.sandbox.sandboxId !== sandboxId }
  // What the source may be told to be found is looked for first: a refusal uses up no place in the order.
  const foreign = origin && (origin.kind === 'exact' || origin.workspaceKey !== key) ? origin : undefined
  const found = foreign && (await findOrigin(context, foreign))
  const workspace = key === undefined ? undefined : await enter(context, key)
  const from = foreign ? found : origin || input.restoreLatest ? latestOf(workspace, key) : undefined
  const state = newState(creating, context.now(), workspace?.order, from)
  // The sweep finds scopes by these items. Where there is a snapshot it is there.
  if (!from?.pin && !workspace?.latest) {
    await table.put({ ...scopeKey(scope), tenant: scope.tenant, project: scope.project })
  }
  const actions = [table.transactPut({ ...sandboxKey(scope, sandboxId), ...sandboxAttributes(state) }, NEW_ITEM)]
  actions.push(addEntry(context, state))
  if (key !== undefined && state.order !== undefined) {
    actions.push(table.transactPut({ ...workspaceSandboxKey(scope, key, state.order), sandboxId, order: state.order }))
  }
  if (reusable) actions.push(countReuse(context, fingerprint, reusable.count))
  if (from?.pin) actions.push(pinSnapshot(context, from.pin))
  const token = randomUUID()
  // Many may begin from one snapshot at once.
  const result = await retryTransient(() => table.transact(actions, token), CONTENDED_ATTEMPTS)
  if (result.done) return { state, reused: false }
  const [own] = result.refused
  if (own?.item) return { state: readSandbox(own.item), reused: false }
  throw new TransientError('What the sandbox was to be created from changed at the same time.')
}

/** A snapshot to begin from, with the key that it is of; without a pin there is none yet. */
interface Found {
  workspaceKey: string | null
  pin?: SnapshotPlace
}

/** @throws NotFoundError */
async function findOrigin(context: SandboxTable, origin: Origin): Promise<Found> {
  if (origin.kind === 'latest') return latestOf(await getWorkspace(context, origin.workspaceKey), origin.workspaceKey)
  const snapshot = await findSnapshot(context, origin.sandboxId, origin.snapshotSeq)
  if (!snapshot || (origin.workspaceKey !== undefined && snapshot.workspaceKey !== origin.workspaceKey)) {
    throw new NotFoundError('There is no such snapshot.')
  }
  const { sandboxId, snapshotSeq, checkpointId } = snapshot
  return { workspaceKey: snapshot.workspaceKey ?? null, pin: { sandboxId, snapshotSeq, checkpointId } }
}

function latestOf(workspace: WorkspaceState | undefined, key: string | undefined): Found {
  const { latest } = workspace ?? {}
  const { sandboxId, snapshotSeq, checkpointId } = latest ?? {}
  if (sandboxId === undefined || snapshotSeq === undefined || checkpointId === undefined)
    return { workspaceKey: key ?? null }
  return { workspaceKey: key ?? null, pin: { sandboxId, snapshotSeq, checkpointId } }
}

/** Takes the next place among the sandboxes of a workspace key. One that is not used stays free. */
async function enter({ table, scope }: SandboxTable, key: string): Promise<WorkspaceState> {
  const { item } = await table.update(workspaceItemKey(scope, key), {
    expression: 'ADD #order :one',
    names: { '#order': 'order' },
    values: { ':one': 1 },
  })
  if (!item) throw new TransientError('DynamoDB answered an update without the item.')
  return readWorkspace(item)
}

function newState(
  { input, key, origin, fingerprint, sandboxId }: Creating,
  now: number,
  order: number | undefined,
  from: Found | undefined,
): SandboxState {
  const { profile, taskId, labels = {}, provider, providerSandboxId, ttlSeconds, by } = input
  const source = from && (origin || from.pin) && sourceOf(input, from)
  return {
    sandboxId,
    profile,
    status: 'running',
    ...(taskId !== undefined && taskId !== '' && { taskId }),
    ...(key !== undefined && { workspaceKey: key }),
    ...(order !== undefined && { order }),
    labels,
    ...(provider !== undefined && { provider }),
    ...(providerSandboxId !== undefined && { providerSandboxId }),
    ...(source && { source }),
    ...(from?.pin && { pin: from.pin }),
    fingerprint,
    createdBy: by,
    createdAt: now,
    updatedAt: now,
    ...(ttlSeconds !== undefined && { expiresAt: now + ttlSeconds * 1000 }),
    snapshotSeq: 0,
    recentSaves: [],
  }
}

function sourceOf({ source }: CreateSandboxInput, { workspaceKey, pin }: Found): SandboxSource {
  const type = source?.type ?? 'workspace_latest'
  if (!pin) return { type, workspaceKey }
  return { type, workspaceKey, sandboxId: pin.sandboxId, snapshotSeq: pin.snapshotSeq }
}

/** While its count is above zero, nothing removes the snapshot. */
function pinSnapshot({ table, scope }: SandboxTable, { sandboxId, snapshotSeq }: SnapshotPlace): TransactAction {
  return table.transactUpdate(snapshotKey(scope, sandboxId, snapshotSeq), {
    expression: 'ADD #pins :one',
    condition: 'attribute_exists(pk)',
    names: { '#pins': 'pins' },
    values: { ':one': 1 },
  })
}
