import {
  BODY_BYTES_OF_FILE,
  firstPush,
  laterPush,
  MOST_INLINE_FILES,
  projectMd,
  pull,
  run,
  sweep,
  TABLE_BYTES,
  TURN,
  type Use,
} from './operations.ts'
import { PRICES } from './prices.ts'

/** How a deployment is used. What is a day's is of each thread, or task. */
export interface Usage {
  projects: number
  /** Threads and tasks of all projects together. Each begins in the month. */
  threads: number
  /** Of a workspace; 0: there are none. */
  files: number
  fileBytes: number
  /** Of a save; more than there are count as all. */
  changedFiles: number
  appendsPerDay: number
  restoresPerDay: number
  /** Of `sandkeep run`: a restore, a save and a turn. */
  runsPerDay: number
  turnsPerDay: number
  /** Of `project.md`. */
  readsPerDay: number
  /** How long checkpoints stay. */
  keptDays: number
  /** Whether restores leave the Region. */
  outside: boolean
  /** Whether the deployment has a key of its own. */
  key: boolean
  tracing: boolean
}

export interface CostLine {
  item: string
  amount: number
  unit: string
  /** Dollars a month. */
  usd: number
}

/** What the stack has whether or not it is used; counted in the template by the tests. */
export const FIXED = { alarmMetrics: 45, dashboards: 1, customMetrics: 6, functions: 13 } as const

/** In MB. */
export const MEMORY = { authorizer: 512, service: 1_769 } as const

/** What cannot be measured but on AWS, and is assumed. */
export const ASSUMED = {
  /** Milliseconds of a run, in the mean, starts of new instances among them. */
  authorizerMs: 10,
  serviceMs: 50,
  /** The line of the access log, that of the function, and Lambda's own of both functions. */
  logBytesOfRequest: 2_000,
  /** CloudWatch keeps a month of logs, compressed. */
  logCompression: 0.15,
} as const

const DAYS = 30
const HOURS = 730
const GB = 1e9

/** Dollars for the requests of one operation, with the time and the logs of its functions. */
export function dollarsOf(use: Use): number {
  return (
    use.apiRequests * (PRICES.apiRequest + 2 * PRICES.functionRequest) +
    gbSecondsOf(use) * PRICES.functionGbSecond +
    use.readUnits * PRICES.readUnit +
    use.writeUnits * PRICES.writeUnit +
    use.s3Writes * PRICES.s3Write +
    use.s3Reads * PRICES.s3Read +
    ((use.apiRequests * ASSUMED.logBytesOfRequest) / GB) * PRICES.logGb
  )
}

function gbSecondsOf({ apiRequests, backgroundGbSeconds }: Use): number {
  const { authorizerMs, serviceMs } = ASSUMED
  const mbMs = authorizerMs * MEMORY.authorizer + serviceMs * MEMORY.service
  return (apiRequests * mbMs) / 1_024 / 1_000 + backgroundGbSeconds
}

/** Dollars a month in us-east-1 for each thing that AWS bills, free tiers left out. */
export function estimate(usage: Usage): CostLine[] {
  const { threads, key, tracing } = usage
  const use = monthlyUse(usage)
  const stored = storedBytes(usage)
  const requests = use.apiRequests
  const logBytes = requests * ASSUMED.logBytesOfRequest
  const background = usage.projects * DAYS + 2 * usage.runsPerDay * threads * DAYS
  // DynamoDB asks for its key every five minutes for each caller at most; S3 asks as seldom, with keys of the bucket.
  const keyRequests = key ? Math.min(2 * requests, FIXED.functions * 12 * HOURS) : 0
  // A request a second, and of the others one in twenty.
  const second = DAYS * 86_400
  const traces = tracing ? Math.min(requests, second) + Math.max(0, requests - second) / 20 : 0
  const line = (item: string, amount: number, unit: string, price: number): CostLine => ({
    ...{ item, amount, unit },
    usd: amount * price,
  })
  return [
    line('API Gateway requests', requests, 'requests', PRICES.apiRequest),
    line('Lambda requests', 2 * requests + background, 'runs', PRICES.functionRequest),
    line('Lambda time', gbSecondsOf(use), 'GB-seconds', PRICES.functionGbSecond),
    line('DynamoDB writes', use.writeUnits, 'units', PRICES.writeUnit),
    line('DynamoDB reads', use.readUnits, 'units', PRICES.readUnit),
    line('DynamoDB storage', stored.table / GB, 'GB', PRICES.tableGbMonth),
    line('DynamoDB recovery', stored.table / GB, 'GB', PRICES.recoveryGbMonth),
    line('S3 writes and lists', use.s3Writes, 'requests', PRICES.s3Write),
    line('S3 reads', use.s3Reads, 'requests', PRICES.s3Read),
    line('S3 storage', stored.bucket / GB, 'GB', PRICES.s3GbMonth),
    line('transfer out', usage.outside ? bytesOut(usage) / GB : 0, 'GB', PRICES.outGb),
    line('CloudWatch logs', logBytes / GB, 'GB', PRICES.logGb + ASSUMED.logCompression * PRICES.logGbMonth),
    line('CloudWatch alarms', FIXED.alarmMetrics, 'metrics', PRICES.alarmMetricMonth),
    line('CloudWatch dashboard', FIXED.dashboards, 'dashboard', PRICES.dashboardMonth),
    // Written once a day, and paid by the hour.
    line('CloudWatch metrics', (FIXED.customMetrics * DAYS) / HOURS, 'metrics', PRICES.customMetricMonth),
    line('KMS key', key ? 1 : 0, 'key', PRICES.keyMonth),
    line('KMS requests', keyRequests, 'requests', PRICES.keyRequest),
    line('X-Ray traces', traces, 'traces', PRICES.trace),
  ]
}

function monthlyUse(usage: Usage): Use {
  const { projects, threads, files, fileBytes } = usage
  const changed = Math.min(usage.changedFiles, files)
  const { checkpoints, blobs } = keptOf(usage)
  const workspace = { files, fileBytes, projectBlobs: blobs / projects }
  const ofThread = (perDay: number) => perDay * DAYS * threads
  const parts: Array<[times: number, use: Use]> = [
    [files > 0 ? threads : 0, firstPush(workspace)],
    [ofThread(usage.appendsPerDay), laterPush(workspace, changed)],
    [ofThread(usage.restoresPerDay), pull(workspace)],
    [ofThread(usage.runsPerDay), run(workspace, changed)],
    [ofThread(usage.turnsPerDay), TURN],
    [ofThread(usage.readsPerDay), projectMd(threads / projects)],
    [projects * DAYS, sweep(workspace, checkpoints / projects)],
  ]
  const total: Use = {
    ...{ apiRequests: 0, readUnits: 0, writeUnits: 0, s3Writes: 0, s3Reads: 0, backgroundGbSeconds: 0 },
  }
  for (const [times, use] of parts) {
    for (const name of Object.keys(total) as Array<keyof Use>) total[name] += times * use[name]
  }
  return total
}

/** What is there of all threads. Each save adds the contents of what changed. */
function keptOf({ threads, files, changedFiles, appendsPerDay, runsPerDay, keptDays }: Usage) {
  const saves = (appendsPerDay + runsPerDay) * keptDays
  return {
    checkpoints: threads * (saves + (files > 0 ? 1 : 0)),
    blobs: threads * (files + Math.min(changedFiles, files) * saves),
  }
}

function storedBytes(usage: Usage): { table: number; bucket: number } {
  const { threads, files, fileBytes, keptDays } = usage
  const { checkpoints, blobs } = keptOf(usage)
  const inline = files <= MOST_INLINE_FILES
  // The head of a workspace that runs restore is there twice: in blobs and in bundles.
  const bundled = usage.runsPerDay > 0 ? threads * files : 0
  const turns = threads * (usage.turnsPerDay + usage.runsPerDay) * keptDays
  return {
    table: checkpoints * (inline ? TABLE_BYTES.inline : TABLE_BYTES.other) + turns * TABLE_BYTES.turn,
    bucket: (blobs + bundled) * fileBytes + (inline ? 0 : checkpoints * files * BODY_BYTES_OF_FILE),
  }
}

function bytesOut({ threads, files, fileBytes, restoresPerDay, runsPerDay }: Usage): number {
  return threads * DAYS * (restoresPerDay + runsPerDay) * files * fileBytes
}
