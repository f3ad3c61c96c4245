import { type Command, Option } from 'commander'
import { MAX_SWEEP_WAIT_MS } from '../../src/limits.ts'
import type { SweepReport } from '../../src/sweep/report.ts'
import { type CommandContext, type ConnectionOptions, openSession, type Session, withConnection } from '../context.ts'
import { parseDuration } from '../duration.ts'
import { RefusedError, UsageError } from '../errors.ts'
import { count, formatBytes, isoTime, printable } from '../format.ts'
import { table } from '../output.ts'
import { awaitReport } from '../sweep-report.ts'

interface SweepOptions extends ConnectionOptions {
  dryRun?: boolean
  olderThan: string
  wait: string
}

export function registerSweep(program: Command, context: CommandContext): void {
  const command = withConnection(program.command('sweep'))
    .description('delete what no checkpoint uses any more, at any time')
    .option('--dry-run', 'count what would go, and change nothing')
    .addOption(new Option('--older-than <duration>', 'only what is older goes: 0s, 90m, 24h, 7d').default('24h'))
    .addOption(
      new Option('--wait <duration>', 'wait so long, at most 10m, for writers that may be using it').default('0s'),
    )
    .addHelpText(
      'after',
      `
What writers that hold a thread just now may be using is kept until they are done: it goes with a later sweep, which
runs by itself every day.

Examples:
  $ sandkeep sweep --dry-run
  $ sandkeep sweep --older-than 0s --wait 5m`,
    )
    .action(async (options: SweepOptions) => {
      const olderThanMs = parseDuration('--older-than', options.olderThan)
      const waitMs = parseDuration('--wait', options.wait)
      if (waitMs > MAX_SWEEP_WAIT_MS) throw new UsageError('--wait should be at most 10m.')
      const session = await openSession(context, options)
      const report = await sweep(session, { olderThanMs, waitMs, dryRun: options.dryRun === true }).finally(() =>
        session.progress.stop(),
      )
      await session.output.result(describe(report), () => lines(report))
      refuseFailure(report)
    })
  registerList(command, context)
}

function registerList(parent: Command, context: CommandContext): void {
  withConnection(parent.command('list'))
    .description('list the sweeps of the project, newest first, with what they left')
    .option('--limit <number>', 'how many at most, 1 to 100', '20')
    .addHelpText('after', '\nExample:\n  $ sandkeep sweep list --limit 5')
    .action(async (_options: unknown, command: Command) => {
      const options: ConnectionOptions & { limit: string } = command.optsWithGlobals()
      if (!/^([1-9][0-9]?|100)$/.test(options.limit)) {
        throw new UsageError('--limit should be a whole number from 1 to 100.')
      }
      const { client, output } = await openSession(context, options)
      const reports = await client.sweeps.list({ limit: Number(options.limit) })
      await output.result({ sweeps: reports.map(describe) }, () => reports.flatMap(listed))
    })
}

/** A line, and one for each object that the storage would not delete. */
function listed(report: SweepReport): string[] {
  const { id, startedAt, state, dryRun, deleted, bytesFreed, failures } = report
  const did = dryRun ? 'dry run' : `deleted ${count(deleted, 'object')}, ${formatBytes(bytesFreed)}`
  return [
    `${printable(id)}  ${isoTime(startedAt)}  ${state}  ${did}`,
    ...failures.map(({ key, reason }) => `  not deleted: ${printable(key)}: ${printable(reason)}`),
  ]
}

async function sweep(
  { client: { sweeps }, progress, signal }: Session,
  options: { olderThanMs: number; waitMs: number; dryRun: boolean },
): Promise<SweepReport> {
  // How much there is shows only as it is listed: the last sweep tells about how much that will be.
  const [before] = await sweeps.list({ limit: 1 })
  const { sweepId } = await sweeps.start(options)
  progress.note(`sweep ${sweepId} started`)
  if (before && before.listed > 0) progress.start('sweeping', before.listed, 'objects')
  let shown = 0
  return awaitReport({
    sweeps,
    sweepId,
    signal,
    onProgress({ listed }) {
      progress.advance(listed - shown)
      shown = listed
    },
  })
}

/** @throws RefusedError when the sweep did not do all that it should have. */
function refuseFailure({ state, failures }: SweepReport): void {
  if (state === 'failed') {
    throw new RefusedError(
      'The sweep failed. The logs of the sweep function say why; the next sweep goes on where it was.',
    )
  }
  if (failures.length === 0) return
  const details = failures.map(({ key, reason }) => `${printable(key)}: ${printable(reason)}`)
  throw new RefusedError(
    `The storage did not delete ${count(failures.length, 'object')}. The next sweep tries again.`,
    details,
  )
}

function lines(report: SweepReport): string[] {
  const { state, dryRun, condemned, deleted, spared } = report
  const number = (value: number) => value.toLocaleString('en-US')
  const first = `${printable(report.id)}: ${dryRun ? 'dry run ' : ''}${state} after ${report.seconds.toFixed(1)} s`
  const rows = table([
    ['listed', number(report.listed)],
    ['referenced', number(report.referenced)],
    ['condemned', number(condemned)],
    ['spared', number(spared)],
    ['deleted', `${number(deleted)}, ${formatBytes(report.bytesFreed)}`],
    ['cleared', number(report.cleared)],
    ['requests', `${number(report.requests)}, $${report.costUsd.toFixed(6)}`],
  ])
  return state === 'waiting'
    ? [first, ...rows, 'Waits for writers to be done: what they may be using goes with a later sweep, or use --wait.']
    : [first, ...rows]
}

function describe(report: SweepReport) {
  return {
    sweep_id: report.id,
    state: report.state,
    started_at: isoTime(report.startedAt),
    seconds: report.seconds,
    dry_run: report.dryRun,
    listed: report.listed,
    referenced: report.referenced,
    condemned: report.condemned,
    spared: report.spared,
    deleted: report.deleted,
    bytes_freed: report.bytesFreed,
    cleared: report.cleared,
    requests: report.requests,
    cost_usd: report.costUsd,
    failures: report.failures,
  }
}
