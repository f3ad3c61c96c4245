import { writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** Loaded into a measured process before its own code: leaves behind the most memory that it had, in KiB. */
const file = process.env.BENCH_USAGE_FILE
if (isMainThread && file !== undefined) {
  process.on('exit', () => writeFileSync(file, String(process.resourceUsage().maxRSS)))
}
