import { InvalidInputError } from '../../src/errors.ts'
import type { CommandContext } from '../context.ts'
import { ExitCodeError, RefusedError, UsageError } from '../errors.ts'
import { describeFailure, EXIT } from '../exit.ts'
import { count, formatBytes, printable, printablePath } from '../format.ts'
import { makeFolder } from '../workspace/make-folder.ts'
import { summarize } from '../workspace/manifest.ts'
import type { Ended } from './command.ts'
import { execute } from './execute.ts'
import { finishRun } from './finish.ts'
import { parseOptions, type RunOptions, type RunPlan } from './options.ts'
import { type Prepared, prepareRun } from './prepare.ts'
import { type RunRecord, readRecord, writeRecord } from './record.ts'
import { goOnLines, saveCommand } from './save-command.ts'
import { WorkspaceSaver } from './saver.ts'
import { RunSignals } from './signals.ts'

/** Engines end like that, and so may commands. */
const ENGINE_FAILED =
  'sandkeep: exit code 125: the container engine could not start the container, unless the command itself ended so'

/**
 * Runs a command in a workspace that the next run of the task goes on with.
 * @throws ExitCodeError with the code of the command, or with one that says why it was not run or not saved; UsageError,
 *   InvalidInputError
 */
export async function runRun(context: CommandContext, command: readonly string[], options: RunOptions): Promise<void> {
  const plan = parseOptions(options)
  const signals = new RunSignals(context)
  try {
    await runWith(signals, context, plan, command, options)
  } finally {
    signals.release()
  }
}

async function runWith(
  signals: RunSignals,
  context: CommandContext,
  plan: RunPlan,
  command: readonly string[],
  options: RunOptions,
): Promise<void> {
  const prepared = await prepareRun(context, plan, options, signals.aborted).catch((error: unknown) => {
    throw notRun(error, signals)
  })
  const { session, places, record, before } = prepared
  const { progress } = session
  const saver = new WorkspaceSaver({
    client: session.client,
    sandboxId: record.sandboxId,
    root: places.workspace,
    cache: prepared.cache,
    begun: prepared.begun,
    contents: before,
    signal: session.signal,
    note: progress.note,
  })
  const json = options.json === true
  const ended = await execute({ context, plan, command, prepared, saver, signals, json }).catch((error: unknown) => {
    throw notRun(error, signals)
  })
  signals.hold(() => progress.note('sandkeep: saving the work; another signal ends that'))
  if (ended.timedOut) progress.note(`sandkeep: the command was ended after --timeout ${options.timeout}`)
  if (options.image !== undefined && ended.exitCode === EXIT.notRun) progress.note(ENGINE_FAILED)
  const end = { ...ended, endedAt: new Date().toISOString() }
  let done: RunRecord
  try {
    // On a full disk, or where the command has removed the folder, the work is saved all the same.
    await makeFolder(places.folder.path, 0o700)
      .then(() => writeRecord(places.folder, { ...record, end }))
      .catch((error: unknown) => progress.note(`sandkeep: ${describeFailure(error).message}`))
    done = await finishRun({
      client: session.client,
      folder: places.folder,
      record: { ...record, end },
      save: async () => ({ snapshot: await saver.save('destroy'), entries: saver.entries }),
      before: before.files,
      env: context.env,
      signal: session.signal,
    })
  } catch (error) {
    throw await unfinished(error, prepared, ended, options)
  }
  // All is saved: what fails from here on is not worth the command's exit code.
  await report(prepared, done, saver, options).catch(() => undefined)
  await places.removeOwn().catch(() => {
    progress.note(`sandkeep: ${printablePath(places.folder.path)} could not be removed, and is not needed any more`)
  })
  const exitCode = ended.timedOut && ended.exitCode === 0 ? EXIT.timedOut : ended.exitCode
  if (exitCode !== 0) throw new ExitCodeError(exitCode)
}

function notRun(error: unknown, signals: RunSignals): unknown {
  const isTold = error instanceof ExitCodeError || error instanceof UsageError || error instanceof InvalidInputError
  if (isTold) return error
  return new ExitCodeError(signals.exitCode ?? EXIT.notRun, {
    cause: signals.aborted.aborted ? signals.aborted.reason : error,
  })
}

/** What is to be saved is on the disk, and stays there. */
async function unfinished(
  error: unknown,
  { places }: Prepared,
  { exitCode }: Ended,
  options: RunOptions,
): Promise<ExitCodeError> {
  const { message, details } = describeFailure(error)
  const { saved } = await readRecord(places.folder).catch(() => ({ saved: null }))
  const state = saved ? 'its files are saved, but its record is not finished yet' : 'its work is not saved yet'
  const cause = new RefusedError(`The command ended with ${exitCode}, and ${state}. ${message}`, [
    ...details,
    `The workspace stays in ${printablePath(places.workspace)}, the rest in ${printablePath(places.folder.path)}.`,
    `To save it: ${saveCommand(places.folder.path, options)}`,
  ])
  return new ExitCodeError(EXIT.unsaved, { cause })
}

async function report(
  { session }: Prepared,
  record: RunRecord,
  saver: WorkspaceSaver,
  options: RunOptions,
): Promise<void> {
  const { files, size } = summarize(saver.entries)
  const { taskId, turn, sandboxId, saved, end } = record
  const value = {
    task_id: taskId,
    turn,
    sandbox_id: sandboxId,
    snapshot_seq: saved?.snapshotSeq ?? null,
    latest: saved?.latest ?? null,
    exit_code: end?.exitCode ?? null,
    timed_out: end?.timedOut ?? false,
    files,
    size_bytes: size,
  }
  const line = `sandkeep: ${printable(taskId)} turn ${turn}: saved ${count(files, 'file')}, ${formatBytes(size)}`
  for (const note of [line, ...goOnLines(record, options)]) session.progress.note(note)
  await session.output.result(value, () => [])
}
