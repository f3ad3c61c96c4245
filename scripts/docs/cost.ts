import { dollarsOf } from '../../src/cost/estimate.ts'
import { firstPush, laterPush, projectMd, pull, run, sweep, TURN, type Use } from '../../src/cost/operations.ts'
import { PRICES } from '../../src/cost/prices.ts'

/** What each price is for, of how many, and the page of AWS that has it. */
const OF_PRICES: Readonly<Record<keyof typeof PRICES, [what: string, many: number, page: string]>> = {
  apiRequest: ['a million requests to a REST API', 1e6, 'API Gateway'],
  functionRequest: ['a million runs of a function', 1e6, 'Lambda'],
  functionGbSecond: ['a million GB-seconds on arm64', 1e6, 'Lambda'],
  writeUnit: ['a million write request units', 1e6, 'DynamoDB, on demand'],
  readUnit: ['a million read request units', 1e6, 'DynamoDB, on demand'],
  tableGbMonth: ['a GB in the table, a month', 1, 'DynamoDB, on demand'],
  recoveryGbMonth: ['point-in-time recovery of a GB, a month', 1, 'DynamoDB, on demand'],
  s3Write: ['a million PUT, COPY, POST or LIST', 1e6, 'S3, Standard'],
  s3Read: ['a million GET or HEAD', 1e6, 'S3, Standard'],
  s3GbMonth: ['a GB in the bucket, a month', 1, 'S3, Standard'],
  outGb: ['a GB to the internet', 1, 'EC2, data transfer'],
  logGb: ['a GB written to logs', 1, 'CloudWatch'],
  logGbMonth: ['a GB of compressed logs, a month', 1, 'CloudWatch'],
  alarmMetricMonth: ['a metric that an alarm looks at, a month', 1, 'CloudWatch'],
  dashboardMonth: ['a dashboard, a month', 1, 'CloudWatch'],
  customMetricMonth: ['a custom metric, a month', 1, 'CloudWatch'],
  keyMonth: ['a key, a month', 1, 'KMS'],
  keyRequest: ['a million requests to a key', 1e6, 'KMS'],
  trace: ['a million traces', 1e6, 'X-Ray'],
}

export function priceTable(): string {
  const rows = Object.entries(OF_PRICES).map(([name, [what, many, page]]) => {
    const price = PRICES[name as keyof typeof PRICES] * many
    return `| ${what} | $${Number(price.toPrecision(6))} | ${page} |`
  })
  return ['| | price | page of AWS |', '|---|---:|---|', ...rows].join('\n')
}

const WORKSPACE = { files: 1_000, fileBytes: 10_000, projectBlobs: 1_000 }
const OPERATIONS: Readonly<Record<string, Use>> = {
  '`push` of 1,000 files, the first of a thread': firstPush(WORKSPACE),
  '`push` after 10 of 1,000 files have changed': laterPush(WORKSPACE, 10),
  '`push` after 10 of 100 files have changed': laterPush({ ...WORKSPACE, files: 100, projectBlobs: 100 }, 10),
  '`pull` of 1,000 files': pull(WORKSPACE),
  '`run` of a task with 1,000 files, of which 10 change': run(WORKSPACE, 10),
  'a turn of the memory': TURN,
  '`project.md` of 100 tasks': projectMd(100),
  'a sweep of 1,000 checkpoints and 10,000 blobs': sweep({ ...WORKSPACE, projectBlobs: 10_000 }, 1_000),
}

export function operationTable(): string {
  const number = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 0 })
  const rows = Object.entries(OPERATIONS).map(([name, use]) => {
    const cells = [use.apiRequests, use.writeUnits, use.readUnits, use.s3Writes, use.s3Reads, 1e6 * dollarsOf(use)]
    return `| ${[name, ...cells.map(number)].join(' | ')} |`
  })
  return [
    '| | API requests | write units | read units | S3 writes | S3 reads | dollars a million |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ].join('\n')
}
