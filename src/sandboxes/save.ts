import { randomUUID } from 'node:crypto'
import { type EncodedCheckpoint, encodeCheckpoint, unpackKeys } from '../checkpoints/codec.ts'
import { commit } from '../checkpoints/commit.ts'
import { dropOwnThread, findOwnCheckpoint, openOwnThread, ownThreadHash } from '../checkpoints/own-thread.ts'
import type { SandboxCheckpoint } from '../checkpoints/types.ts'
import { checkAppend, copyCheckpoint } from '../checkpoints/validate.ts'
import { BlobsMissingError } from '../errors.ts'
import { stringifyJson } from '../json.ts'
import { snapshotKey } from '../table/keys.ts'
import { retryTransient } from '../table/transient.ts'
import { hashBytes, hashText } from '../text.ts'
import { missingBlobs } from './blobs.ts'
import type { SandboxContext } from './context.ts'
import { endOf, readSnapshot, type SandboxState, statusAt } from './items.ts'
import { findSandbox, isLatest, sandboxNotFound, snapshotRecord } from './read.ts'
import { SavedBeforeError, Saving } from './saving.ts'
import { hasEnded } from './states.ts'
import type { SaveSnapshotInput, SnapshotReason, SnapshotRecord } from './types.ts'

/** How long after its end a sandbox may still be saved. */
export const LAST_SAVE_MS = 600_000
const LAST_REASONS: readonly SnapshotReason[] = ['expiry', 'destroy']

/** Hex digits: 128 bits. */
const TOKEN_LENGTH = 32

/**
 * Saves a checkpoint of a sandbox's workspace, by the protocol of the sweep: under a lease, from before its blobs are
 * looked for until its commit.
 */
export async function saveSnapshot(
  context: SandboxContext,
  sandboxId: string,
  input: SaveSnapshotInput,
): Promise<SnapshotRecord> {
  const checkpointId = randomUUID()
  const threadId = `sandboxes/${sandboxId}`
  const createdAt = context.now()
  const checkpoint = checkpointOf(input, { id: checkpointId, threadId, createdAt })
  checkAppend({ checkpoint, expectedHeadId: null, writer: { threadId, ownerToken: '', fence: 0 } })
  const encoded = encodeCheckpoint(checkpoint)
  const token = tokenOf(input, checkpoint)
  const sandbox = await retryTransient(() => findSandbox(context, sandboxId))
  if (!sandbox) throw sandboxNotFound()
  const landed = sandbox.recentSaves.find((save) => save.token === token)
  if (landed) return savedBefore(context, sandboxId, landed.snapshotSeq)
  checkMaySave(sandbox, input.reason, createdAt)

  const [writer, held] = await Promise.all([
    openOwnThread(context, checkpointId, threadId),
    retryTransient(() => heldKeys(context, sandbox)),
  ])
  const saving = new Saving(context, sandbox, {
    snapshot: { sandboxId, checkpointId, createdAt, reason: input.reason, label: input.label },
    token,
    ifLatest: input.ifLatest,
    checkMaySave: (state) => checkMaySave(state, input.reason, context.now()),
  })
  try {
    await checkBlobs(context, encoded, held)
    await commit(context, {
      ...{ id: checkpointId, threadId, threadHash: ownThreadHash(checkpointId), encoded, writer, lease: writer },
      ...{ token: undefined, release: true, guards: saving },
      checkHead: () => undefined,
      idUsed: () => new Error('The id of a new checkpoint is used, which none is.'),
    })
    return saving.record()
  } catch (error) {
    // What fails to go now goes by itself.
    await dropOwnThread(context, checkpointId).catch(() => undefined)
    if (error instanceof SavedBeforeError) return savedBefore(context, sandboxId, error.snapshotSeq)
    throw error
  }
}

/** What a save of late with the same token was answered with. */
async function savedBefore(context: SandboxContext, sandboxId: string, seq: number): Promise<SnapshotRecord> {
  return retryTransient(async () => {
    const item = await context.table.get(snapshotKey(context.scope, sandboxId, seq))
    if (!item) throw sandboxNotFound()
    const snapshot = readSnapshot(item)
    return snapshotRecord(snapshot, await isLatest(context, snapshot))
  })
}

/** The blob keys of the snapshot that the sandbox was filled with last: as long as it is there, so are they. */
async function heldKeys(context: SandboxContext, { checkpointId, pin }: SandboxState): Promise<Set<string>> {
  const id = checkpointId ?? pin?.checkpointId
  const record = id === undefined ? undefined : await findOwnCheckpoint(context, id)
  const packed = record && (await context.bodies.readKeys(record))
  return new Set(packed && record ? unpackKeys(packed, record.fileKeys) : [])
}

/** @throws BlobsMissingError */
async function checkBlobs(
  context: SandboxContext,
  { keys, fileKeys }: EncodedCheckpoint,
  held: ReadonlySet<string>,
): Promise<void> {
  const wanted = unpackKeys(keys, fileKeys).filter((key) => !held.has(key))
  const missing = await missingBlobs(context, wanted)
  if (missing.length > 0) throw new BlobsMissingError(missing)
}

function checkpointOf(
  { files, artifacts = [], conversation = [], label }: SaveSnapshotInput,
  name: Pick<SandboxCheckpoint, 'id' | 'threadId' | 'createdAt'>,
): SandboxCheckpoint {
  return copyCheckpoint({
    ...name,
    parentCheckpointId: null,
    reason: label === undefined ? 'automatic' : 'named',
    ...(label !== undefined && { label }),
    files,
    artifacts,
    conversation,
  })
}

/** What a repeat of this save is known by; bound to what is saved. Undefined where the caller named none. */
function tokenOf({ requestToken, reason }: SaveSnapshotInput, checkpoint: SandboxCheckpoint): string | undefined {
  if (requestToken === undefined) return undefined
  const { files, artifacts, conversation, label } = checkpoint
  const content = hashBytes(Buffer.from(stringifyJson([reason, files, artifacts, conversation, label ?? null])))
  return hashText(`save ${content} ${requestToken}`).slice(0, TOKEN_LENGTH)
}

/** @throws ConflictError naming the state */
function checkMaySave(sandbox: SandboxState, reason: SnapshotReason, now: number): void {
  const status = statusAt(sandbox, now)
  if (status !== 'expired' && status !== 'destroyed') return
  if (sandbox.purging || now >= (endOf(sandbox, now) ?? 0) + LAST_SAVE_MS) {
    throw hasEnded(status, ': it is more than 10 minutes too late to save it')
  }
  if (!LAST_REASONS.includes(reason))
    throw hasEnded(status, `: it is saved for the reason ${LAST_REASONS.join(' or ')}`)
}
