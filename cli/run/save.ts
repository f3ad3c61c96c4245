import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { SandkeepHttpError } from '../../client/index.ts'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import type { SnapshotName, SnapshotRecord } from '../../src/sandboxes/types.ts'
import { type CommandContext, type ConnectionOptions, openSession, type Session } from '../context.ts'
import { errnoOf, RefusedError, UsageError } from '../errors.ts'
import { count, printable, printablePath } from '../format.ts'
import { statCache } from '../workspace/stat-cache.ts'
import { finishRun } from './finish.ts'
import { TTL_SECONDS } from './prepare.ts'
import { type RunFolder, type RunRecord, readRecord, runFolder } from './record.ts'
import { goOnLines } from './save-command.ts'
import { type Contents, NO_CONTENTS, WorkspaceSaver } from './saver.ts'

type Entries = ReadonlyArray<SandboxSnapshotEntry>

/** Finishes a run from the folder that it has left. The folder stays. */
export async function runSave(context: CommandContext, path: string, options: ConnectionOptions): Promise<void> {
  const folder = runFolder(await openFolder(resolve(context.cwd, path)))
  const record = await readRecord(folder)
  if (!record.ready) {
    throw new RefusedError(
      `The run ended before its workspace was filled: there is nothing to save. ${printablePath(folder.path)} is not needed any more.`,
    )
  }
  const session = await openSession(context, options)
  const { client, signal, output } = session
  let kept: Entries = []
  const done = await finishRun({
    client,
    folder,
    record,
    async save() {
      const saved = await save(session, folder, record)
      kept = saved.entries
      return saved
    },
    before: (await contentsOf(session, record.source)).files,
    env: context.env,
    signal,
  })
  const value = {
    task_id: done.taskId,
    turn: done.turn,
    sandbox_id: done.saved?.sandboxId,
    snapshot_seq: done.saved?.snapshotSeq,
    latest: done.saved?.latest,
  }
  await output.result(value, () => [
    `${printable(done.taskId)} turn ${done.turn}: saved ${count(kept.filter(({ kind }) => kind === 'file').length, 'file')}`,
    `${printablePath(folder.path)} is not needed any more.`,
  ])
  for (const line of goOnLines(done, options)) session.progress.note(line)
}

async function openFolder(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw error
    throw new UsageError(`${printablePath(path)} is not there.`, { cause: error })
  }
}

/**
 * Into the sandbox of the run; where that has ended too long ago, into a new one of the task. That is newer than all that
 * others have made since: it takes the place of no work but that which the run began with, or saved itself.
 */
async function save(session: Session, folder: RunFolder, record: RunRecord) {
  const { sandboxes } = session.client
  if (record.saved) return { snapshot: record.saved, entries: (await contentsOf(session, record.saved)).files }
  const sandbox = await sandboxes.get(record.sandboxId)
  if (sandbox) {
    try {
      const contents = await contentsOf(session, sandbox.restore)
      return await saveInto(session, folder, record, { sandboxId: sandbox.sandboxId, contents })
    } catch (error) {
      if (!(error instanceof SandkeepHttpError) || error.status !== 409) throw error
    }
  }
  const { profile, taskId } = record
  const created = await sandboxes.create({ profile, taskId, ttlSeconds: TTL_SECONDS })
  const ifLatest = sandbox?.restore ?? record.source
  const { conversation } = await contentsOf(session, ifLatest)
  // Nothing is taken to be in the store still.
  const contents = { ...NO_CONTENTS, conversation }
  return saveInto(session, folder, record, { sandboxId: created.sandbox.sandboxId, contents, ifLatest })
}

async function saveInto(
  { client, signal, progress }: Session,
  folder: RunFolder,
  { workspace }: RunRecord,
  into: { sandboxId: string; contents: Contents; ifLatest?: SnapshotName | null },
): Promise<{ snapshot: SnapshotRecord; entries: Entries }> {
  const begun = statCache(folder.begun, workspace)
  const note = (text: string) => progress.note(text)
  const saver = new WorkspaceSaver({ client, ...into, root: workspace, cache: begun, begun, signal, note })
  return { snapshot: await saver.save('destroy'), entries: saver.entries }
}

/** Nothing for a snapshot that is not there any more. */
async function contentsOf({ client }: Session, snapshot: SnapshotName | null): Promise<Contents> {
  return (snapshot && (await client.sandboxes.getSnapshot(snapshot))) ?? NO_CONTENTS
}
