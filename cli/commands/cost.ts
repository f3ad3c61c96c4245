import { type Command, Option } from 'commander'
import { type CostLine, estimate, type Usage } from '../../src/cost/estimate.ts'
import { PRICES_OF } from '../../src/cost/prices.ts'
import type { CommandContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { createOutput, table } from '../output.ts'

type NumberName = keyof { [Name in keyof Usage as Usage[Name] extends number ? Name : never]: true }

interface NumberOption {
  flag: string
  value: string
  what: string
  standard: number
  /** @default 0 */
  least?: number
  /** @default MOST */
  most?: number
  /** Whether it counts things that come whole. */
  whole?: boolean
}

/** More of anything than any account has. */
const MOST = 1e12

const NUMBERS: Readonly<Record<NumberName, NumberOption>> = {
  threads: { flag: '--threads', value: 'n', what: 'threads and tasks', standard: 0, whole: true },
  files: {
    flag: '--files',
    value: 'n',
    what: 'files of a workspace; 0: no workspaces',
    standard: 1_000,
    most: 100_000,
    whole: true,
  },
  fileBytes: { flag: '--file-bytes', value: 'n', what: 'mean size of a file', standard: 10_000 },
  changedFiles: { flag: '--changed-files', value: 'n', what: 'files changed between saves', standard: 10 },
  appendsPerDay: { flag: '--appends-per-day', value: 'n', what: 'pushes a day of each thread', standard: 0 },
  restoresPerDay: { flag: '--restores-per-day', value: 'n', what: 'pulls a day of each thread', standard: 0 },
  runsPerDay: { flag: '--runs-per-day', value: 'n', what: '`sandkeep run`s a day of each task', standard: 0 },
  turnsPerDay: { flag: '--turns-per-day', value: 'n', what: 'turns a day of each task, beside its runs', standard: 0 },
  readsPerDay: { flag: '--reads-per-day', value: 'n', what: 'reads a day of project.md, for each task', standard: 0 },
  keptDays: { flag: '--kept-days', value: 'n', what: 'days that checkpoints and turns are kept', standard: 30 },
  projects: {
    flag: '--projects',
    value: 'n',
    what: 'projects that share all that',
    standard: 1,
    least: 1,
    whole: true,
  },
}

/** What is for each thread, or task. */
const perThread = (Object.keys(NUMBERS) as NumberName[]).filter((name) => name !== 'threads' && name !== 'projects')

type CostOptions = Record<NumberName, string> & Record<'outside' | 'key' | 'tracing' | 'json', boolean | undefined>

export function registerCost(program: Command, context: CommandContext): void {
  const command = program.command('cost').description('estimate what a deployment costs in a month; asks nobody')
  for (const { flag, value, what, standard } of Object.values(NUMBERS)) {
    command.addOption(new Option(`${flag} <${value}>`, what).default(String(standard)))
  }
  command
    .option('--outside', 'restores leave the Region: their bytes are paid for')
    .option('--key', 'the deployment has a KMS key of its own')
    .option('--tracing', 'the deployment traces with X-Ray')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Without options: what the stack costs when nobody uses it. Prices are AWS's public ones in us-east-1, free tiers left
out; each thread begins in the month. docs/cost.md says what is measured and what is assumed.

Examples:
  $ sandkeep cost
  $ sandkeep cost --threads 10 --files 1000 --appends-per-day 20
  $ sandkeep cost --threads 50 --files 5000 --file-bytes 20000 --runs-per-day 10 --key`,
    )
    .action(async (options: CostOptions) => {
      const usage = readUsage(options)
      if (usage.threads === 0 && perThread.some((name) => command.getOptionValueSource(name) === 'cli')) {
        context.stderr.write('sandkeep: without --threads the other numbers count for nothing\n')
      }
      const costs = estimate(usage)
      const total = costs.reduce((sum, { usd }) => sum + usd, 0)
      const value = { region: 'us-east-1', prices_of: PRICES_OF, usd_a_month: total, lines: costs }
      await createOutput(context.stdout, options.json === true).result(value, () => [
        `a month in us-east-1, at the prices of ${PRICES_OF}, without free tiers`,
        ...table([...costs.filter(({ usd }) => usd > 0).map(row), ['total', '', '', dollars(total)]]),
      ])
    })
}

/** @throws UsageError naming the option and its rule */
function readUsage(options: CostOptions): Usage {
  const numbers = Object.fromEntries(
    Object.entries(NUMBERS).map(([name, rule]) => [name, readNumber(rule, options[name as NumberName])]),
  ) as Record<NumberName, number>
  const { outside = false, key = false, tracing = false } = options
  return { ...numbers, outside, key, tracing }
}

function readNumber({ flag, least = 0, most = MOST, whole }: NumberOption, text: string): number {
  const number = /^[0-9]+(?:\.[0-9]+)?$/.test(text) ? Number(text) : Number.NaN
  if (number >= least && number <= most && (!whole || Number.isInteger(number))) return number
  throw new UsageError(
    `${flag} should be a ${whole ? 'whole ' : ''}number from ${least} to ${most.toLocaleString('en-US')}, not "${text}".`,
  )
}

function row({ item, amount, unit, usd }: CostLine): string[] {
  const shown = amount.toLocaleString('en-US', amount < 100 ? { maximumSignificantDigits: 3 } : MAX_DIGITS)
  return [item, shown, unit, dollars(usd)]
}

const MAX_DIGITS = { maximumFractionDigits: 0 }

function dollars(usd: number): string {
  return `$${usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
}
