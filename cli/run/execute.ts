import type { CommandContext } from '../context.ts'
import { describeFailure } from '../exit.ts'
import { join } from '../workspace/paths.ts'
import { type Ended, type RunningCommand, startCommand } from './command.ts'
import { CONTAINER_WORKSPACE, containerArguments, killContainer } from './container.ts'
import type { RunPlan } from './options.ts'
import { OutputLog } from './output-log.ts'
import { type Prepared, RENEW_EVERY_MS, TTL_SECONDS } from './prepare.ts'
import type { WorkspaceSaver } from './saver.ts'
import type { RunSignals } from './signals.ts'
import { SUMMARY_FILE } from './summary.ts'

export interface ExecuteInput {
  context: CommandContext
  plan: RunPlan
  command: readonly string[]
  prepared: Prepared
  saver: WorkspaceSaver
  signals: RunSignals
  /** Standard output is for the result: the command's goes to standard error. */
  json: boolean
}

/**
 * Runs the command to its end, saving what it changes meanwhile.
 * @throws ExitCodeError when there is no such command, or it cannot be executed
 */
export async function execute(input: ExecuteInput): Promise<Ended> {
  const { signals } = input
  // One that comes while the command is being started is the command's, too.
  const early: NodeJS.Signals[] = []
  signals.passTo({ send: (signal) => early.push(signal) })
  const { running, log } = await start(input)
  signals.passTo(running)
  for (const signal of early) running.send(signal)
  const stopTimers = startTimers(input)
  try {
    return await running.ended
  } finally {
    stopTimers()
    await log.close().catch(logError(input))
  }
}

/** What cannot be started leaves nothing behind. */
async function start(input: ExecuteInput): Promise<{ running: RunningCommand; log: OutputLog }> {
  const { prepared } = input
  let log: OutputLog | undefined
  try {
    log = await OutputLog.create(prepared.places.folder.log)
    return { running: await startWith(input, log), log }
  } catch (error) {
    await log?.close()
    await prepared.undo()
    throw error
  }
}

function startWith(input: ExecuteInput, log: OutputLog): Promise<RunningCommand> {
  const { context, plan, command, prepared, json } = input
  const { engine, places, record } = prepared
  const { stdout, stderr, timers } = context
  const env = (workspace: string) => ({
    SANDBOX_TASK_ID: record.taskId,
    SANDBOX_ID: record.sandboxId,
    SANDBOX_SUMMARY_FILE: join(workspace, SUMMARY_FILE),
  })
  const shared = {
    cwd: places.workspace,
    log,
    // The command has them in its environment, and the log is read by all who may read the project's memory.
    secrets: [prepared.session.settings.apiKey, prepared.session.settings.token],
    stdout: json ? stderr : stdout,
    stderr,
    timeoutMs: plan.timeoutMs,
    timers,
    onLogError: logError(input),
  }
  if (!engine || plan.image === undefined) {
    const [program = '', ...args] = command
    const own = { ...context.env, ...env(places.workspace) }
    return startCommand({ ...shared, program, args, env: own, killOthers: async () => undefined })
  }
  const name = `sandkeep-${record.sandboxId}`
  const args = containerArguments({
    engine,
    image: plan.image,
    name,
    workspace: places.workspace,
    env: env(CONTAINER_WORKSPACE),
    command,
  })
  const killOthers = () => killContainer(engine, name, context.env)
  return startCommand({ ...shared, program: engine.program, args, env: context.env, killOthers })
}

function startTimers({ context: { timers }, plan, prepared, saver }: ExecuteInput): () => void {
  const { session, record } = prepared
  const tell = (what: string) => (error: unknown) => session.progress.note(`sandkeep: ${what}: ${messageOf(error)}`)
  const renew = () => {
    session.client.sandboxes
      .renew(record.sandboxId, { ttlSeconds: TTL_SECONDS })
      .catch(tell('the sandbox was not renewed'))
  }
  const stops = [timers.every(RENEW_EVERY_MS, renew)]
  if (plan.autosaveMs > 0) {
    stops.push(timers.every(plan.autosaveMs, () => saver.autosave().catch(tell('an autosave failed'))))
  }
  return () => {
    for (const stop of stops) stop()
  }
}

function logError({ prepared: { session } }: ExecuteInput): (error: unknown) => void {
  return (error) => session.progress.note(`sandkeep: the output is not logged: ${messageOf(error)}`)
}

function messageOf(error: unknown): string {
  return describeFailure(error).message
}
