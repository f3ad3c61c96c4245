import type { TurnMeta } from '../../client/index.ts'
import { MAX_META_BYTES } from '../../src/limits.ts'
import { checkTaskId } from '../../src/memory/names.ts'
import type { SnapshotName } from '../../src/sandboxes/types.ts'
import type { ConnectionOptions } from '../context.ts'
import { parseDuration } from '../duration.ts'
import { UsageError } from '../errors.ts'
import { printable } from '../format.ts'

/** As they stand on the command line. */
export interface RunOptions extends ConnectionOptions {
  task: string
  profile: string
  from?: string
  dir?: string
  image?: string
  autosave: string
  timeout?: string
  meta: string[]
  summary?: string
}

/** What a run is to do. Times are milliseconds. */
export interface RunPlan {
  taskId: string
  profile: string
  /** What to begin with; undefined: the latest workspace of the task. */
  from: SnapshotName | undefined
  dir: string | undefined
  image: string | undefined
  /** 0: never. */
  autosaveMs: number
  timeoutMs: number | undefined
  meta: TurnMeta
  summary: string | null
}

/** The run itself knows these. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...['sandbox_id', 'snapshot_seq', 'snapshot_sandbox_id'],
  ...['exit_code', 'timed_out', 'started_at', 'ended_at'],
])

/** They have that much room at most. */
const OWN_FIELDS_BYTES = 1_024

/** @throws UsageError, InvalidInputError naming the option */
export function parseOptions(options: RunOptions): RunPlan {
  const { task, profile, from, dir, image, autosave, timeout, meta, summary = null } = options
  const timeoutMs = timeout === undefined ? undefined : parseDuration('--timeout', timeout)
  if (timeoutMs === 0) throw new UsageError('--timeout should be longer than nothing.')
  if (profile === '') throw new UsageError('--profile should not be empty.')
  return {
    taskId: checkTaskId(task, '--task'),
    profile,
    from: from === undefined ? undefined : parseSnapshot(from),
    dir,
    image,
    autosaveMs: parseDuration('--autosave', autosave),
    timeoutMs,
    meta: parseMeta(meta),
    summary,
  }
}

/** As messages name a snapshot. @throws UsageError */
function parseSnapshot(text: string): SnapshotName {
  const [, sandboxId, seq] = /^([\w-]+)\/([1-9]\d{0,14})$/.exec(text) ?? []
  if (sandboxId !== undefined) return { sandboxId, snapshotSeq: Number(seq) }
  throw new UsageError(`--from should be SANDBOX_ID/NUMBER, the name of a snapshot, not "${printable(text)}".`)
}

/**
 * The meta of `name=value` pairs. `cost` and the members of `tokens` are numbers, `tokens` itself is JSON, `agent` stands
 * for `agent_id`; the rest is text.
 * @throws UsageError
 */
export function parseMeta(pairs: readonly string[]): TurnMeta {
  const meta: TurnMeta = {}
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError(`--meta should be name=value, not "${printable(pair)}".`)
    const name = pair.slice(0, at)
    const value = pair.slice(at + 1)
    if (OWN_FIELDS.has(name)) throw new UsageError(`--meta ${name} is what the run itself tells.`)
    if (name === 'agent') meta.agent_id = value
    else if (name === 'cost') meta.cost = numberOf(name, value)
    else if (name === 'tokens') meta.tokens = { ...meta.tokens, ...objectOf(name, value) }
    else if (name.startsWith('tokens.')) {
      meta.tokens = { ...meta.tokens, [name.slice('tokens.'.length)]: numberOf(name, value) }
    } else Object.defineProperty(meta, name, { value, enumerable: true, configurable: true, writable: true })
  }
  for (const name of ['input', 'output'] as const) {
    const value: unknown = meta.tokens?.[name]
    if (value === undefined || value === null || typeof value === 'number') continue
    throw new UsageError(`--meta tokens: ${name} should be a number.`)
  }
  if (Buffer.byteLength(JSON.stringify(meta)) > MAX_META_BYTES - OWN_FIELDS_BYTES) {
    throw new UsageError(`--meta should be less than ${MAX_META_BYTES - OWN_FIELDS_BYTES} bytes in all.`)
  }
  return meta
}

function numberOf(name: string, text: string): number {
  const number = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isFinite(number)) return number
  throw new UsageError(`--meta ${name} should be a number, not "${printable(text)}".`)
}

function objectOf(name: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Told with whatever else is no object.
  }
  throw new UsageError(`--meta ${name} should be a JSON object, such as {"input": 1200, "output": 300}.`)
}
