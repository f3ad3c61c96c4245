import { SandkeepHttpError } from '../../client/index.ts'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import type { Client } from '../context.ts'
import type { Environment } from '../settings.ts'
import { joinLog } from './output-log.ts'
import { type RunFolder, type RunRecord, writeRecord } from './record.ts'
import { readSummary } from './summary.ts'
import { writeTurn } from './turn.ts'
import { writeDiff } from './workspace-diff.ts'

type Entries = ReadonlyArray<SandboxSnapshotEntry>

/** As much of a snapshot's record as the run's own needs. */
export type SavedSnapshot = NonNullable<RunRecord['saved']>

export interface FinishInput {
  client: Pick<Client, 'blobs' | 'memory' | 'sandboxes'>
  folder: RunFolder
  record: RunRecord
  /** Saves the workspace for the last time. */
  save: () => Promise<{ snapshot: SavedSnapshot; entries: Entries }>
  /** What the workspace began with. */
  before: Entries
  env: Environment
  signal: AbortSignal
}

/**
 * Saves the workspace; then writes the turn and destroys the sandboxes. Called again, from the record, it does what is
 * still to be done.
 * @returns the record of what is done
 * @throws what kept it from being done
 */
export async function finishRun(input: FinishInput): Promise<RunRecord> {
  const { client, folder } = input
  const { snapshot, entries } = await input.save()
  const { sandboxId, snapshotSeq, latest } = snapshot
  const record = { ...input.record, saved: { sandboxId, snapshotSeq, latest } }
  await writeRecord(folder, record)
  const sandboxes = new Set([record.sandboxId, sandboxId])
  const [turn, ...destroyed] = await Promise.allSettled([
    recordTurn({ ...input, record }, entries),
    ...[...sandboxes].map((id) => destroy(client, id)),
  ])
  for (const outcome of destroyed) if (outcome.status === 'rejected') throw outcome.reason
  if (turn.status === 'rejected') throw turn.reason
  return turn.value
}

/** One that is gone, or that only another may destroy, ends by itself. */
async function destroy({ sandboxes }: FinishInput['client'], sandboxId: string): Promise<void> {
  try {
    await sandboxes.destroy(sandboxId)
  } catch (error) {
    if (!(error instanceof SandkeepHttpError && [403, 404].includes(error.status))) throw error
  }
}

async function recordTurn(input: FinishInput, after: Entries): Promise<RunRecord> {
  const { client, folder, before, env, signal } = input
  let { record } = input
  const { workspace, taskId } = record
  await joinLog(folder.log)
  const { blobs, memory } = client
  await writeDiff({ before, after, root: workspace, blobs, file: folder.diff, folder: folder.path, env, signal })
  await writeTurn({
    memory,
    taskId,
    turn: record.turn,
    meta: metaOf(record),
    summaryMd: record.summary ?? (await readSummary(workspace)) ?? '',
    artifacts: [
      { name: 'output.log', content: { path: folder.log }, contentType: 'text/plain; charset=utf-8' },
      { name: 'workspace.diff', content: { path: folder.diff }, contentType: 'text/x-diff; charset=utf-8' },
    ],
    onTurn: async (turn) => {
      record = { ...record, turn }
      await writeRecord(folder, record)
    },
  })
  return record
}

function metaOf({ meta, sandboxId, saved, end, startedAt }: RunRecord) {
  return {
    ...meta,
    sandbox_id: sandboxId,
    snapshot_seq: saved?.snapshotSeq ?? null,
    ...(saved && saved.sandboxId !== sandboxId && { snapshot_sandbox_id: saved.sandboxId }),
    exit_code: end?.exitCode ?? null,
    ...(end?.timedOut && { timed_out: true }),
    started_at: startedAt,
    ended_at: end?.endedAt ?? null,
  }
}
