import { join } from 'node:path'
import type { SandboxRecord } from '../../src/sandboxes/types.ts'
import { type CommandContext, openSession, type Session } from '../context.ts'
import { makeFolder } from '../workspace/make-folder.ts'
import { type StatCache, statCache } from '../workspace/stat-cache.ts'
import { type ContainerEngine, findEngine } from './container.ts'
import type { RunOptions, RunPlan } from './options.ts'
import { newRecord, type RunRecord, writeRecord } from './record.ts'
import { restoreLatest } from './restore-latest.ts'
import { type Contents, NO_CONTENTS } from './saver.ts'
import { OWN_FOLDER } from './summary.ts'
import { makePlaces, type Places } from './workspace-folder.ts'

/** A sandbox whose run was killed ends by itself after this. */
export const TTL_SECONDS = 86_400
/** A run that lives has it last as long. */
export const RENEW_EVERY_MS = 3_600_000

/** A run whose command can start. */
export interface Prepared {
  session: Session
  engine: ContainerEngine | undefined
  places: Places
  cache: StatCache
  begun: StatCache
  record: RunRecord
  /** What is in the workspace, and what is kept with it. */
  before: Contents
  /** Undoes it all. */
  undo(): Promise<void>
}

/** Makes the sandbox and its workspace. What fails leaves nothing behind. */
export async function prepareRun(
  context: CommandContext,
  plan: RunPlan,
  options: RunOptions,
  signal: AbortSignal,
): Promise<Prepared> {
  const engine = plan.image === undefined ? undefined : await findEngine(context.env)
  const session = await openSession({ ...context, signal: AbortSignal.any([context.signal, signal]) }, options)
  const places = await makePlaces(context.env, context.cwd, plan.dir)
  let sandbox: SandboxRecord | undefined
  const undo = async () => {
    // Where this fails the sandbox expires.
    if (sandbox) await session.leaseClient.sandboxes.destroy(sandbox.sandboxId).catch(() => undefined)
    // What it undoes is told, and not this.
    await places.clear().catch(() => undefined)
  }
  try {
    const { taskId, profile, from } = plan
    const created = await session.client.sandboxes.create({
      profile,
      taskId,
      ...(from ? { source: { type: 'snapshot', ...from } } : { restoreLatest: true }),
      ttlSeconds: TTL_SECONDS,
    })
    sandbox = created.sandbox
    const unfilled = recordOf(plan, sandbox, places)
    await writeRecord(places.folder, unfilled)
    const { folder, workspace } = places
    const caches = { cache: statCache(folder.cache, workspace), begun: statCache(folder.begun, workspace) }
    const before = await fill(session, unfilled, places, caches)
    const record = { ...unfilled, ready: true }
    await writeRecord(places.folder, record)
    session.signal.throwIfAborted()
    return { session, engine, places, ...caches, record, before, undo }
  } catch (error) {
    await undo()
    throw error
  }
}

function recordOf({ taskId, profile, meta, summary }: RunPlan, sandbox: SandboxRecord, places: Places): RunRecord {
  return newRecord({
    taskId,
    profile,
    workspace: places.workspace,
    sandboxId: sandbox.sandboxId,
    source: sandbox.restore,
    meta,
    summary,
    startedAt: new Date().toISOString(),
  })
}

async function fill(
  session: Session,
  { source }: RunRecord,
  { folder, workspace }: Places,
  caches: Pick<Prepared, 'cache' | 'begun'>,
): Promise<Contents> {
  const { client, signal, progress } = session
  const before = source
    ? await restoreLatest({
        client,
        snapshot: source,
        root: workspace,
        ...caches,
        stateFolder: join(folder.path, 'state'),
        signal,
        progress,
      })
    : NO_CONTENTS
  // So that the command need not make it.
  await makeFolder(join(workspace, OWN_FOLDER))
  return before
}
