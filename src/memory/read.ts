import { artifactObjectKey, summaryObjectKey } from '../blobs/object-keys.ts'
import { UnavailableError } from '../errors.ts'
import type { MemoryContext } from './context.ts'
import { artifactRecord, entryName, type IndexItem, isLive, type TurnItem } from './items.ts'
import { readArtifacts, readItems, readTurnState } from './state.ts'
import type { ArtifactId, ByteRange, StoredArtifact, TurnId, TurnRecord } from './types.ts'
import { checkArtifactId, checkTurnId } from './validate.ts'

/** Each meets a summary that was replaced, or artifacts that were deleted with the task, after the turn was read. */
const MAX_READS = 5

export async function getTurn(context: MemoryContext, id: TurnId): Promise<TurnRecord | null> {
  checkTurnId(id)
  for (let read = 1; read <= MAX_READS; read++) {
    const { task, turn, index } = await readTurnState(context, id)
    if (!task || !turn || !isLive(task, context.now())) return null
    const [summaryMd, artifacts] = await Promise.all([
      readSummary(context, id, turn),
      readArtifacts(context, id, index),
    ])
    if (summaryMd === null || artifacts.length < (index?.count ?? 0)) continue
    return {
      taskId: id.taskId,
      turn: id.turn,
      meta: turn.meta,
      summaryMd,
      artifacts,
      createdAt: turn.createdAt,
      updatedAt: lastUpdate(turn, index),
      retainUntil: task.retainUntil,
    }
  }
  throw new UnavailableError('The turn is out of reach. Try again.')
}

/** A write of an artifact is one to its turn. */
export function lastUpdate(turn: TurnItem, index: IndexItem | undefined): number {
  return Math.max(turn.updatedAt, index?.updatedAt ?? 0)
}

async function readSummary({ objects, scope }: MemoryContext, id: TurnId, turn: TurnItem): Promise<string | null> {
  if ('summary' in turn) return turn.summary
  const bytes = await objects.get(summaryObjectKey(scope, { ...id, object: turn.summaryObject }))
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
}

export async function findArtifact(context: MemoryContext, id: ArtifactId): Promise<StoredArtifact | null> {
  checkArtifactId(id)
  const { taskId, turn, name } = id
  const { task, index, artifact } = await readItems(context, id, name)
  if (!isLive(task, context.now())) return null
  const entry = index?.artifacts[entryName(name)] ?? artifact?.artifact
  if (!entry) return null
  const objectKey = artifactObjectKey(context.scope, { taskId, turn, name, object: entry.object })
  return { ...artifactRecord(name, entry), objectKey }
}

export async function readArtifact(
  { objects }: MemoryContext,
  { objectKey, sizeBytes }: StoredArtifact,
  range?: ByteRange,
): Promise<Uint8Array | null> {
  if (!range) return objects.get(objectKey)
  const { start, end } = range
  if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || end < start || end >= sizeBytes) {
    throw new RangeError(`The range ${start}-${end} is not within ${sizeBytes} bytes.`)
  }
  return objects.get(objectKey, range)
}
