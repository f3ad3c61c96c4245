import { readFileSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** Loaded into a measured process before its own code: leaves behind the most memory that it had, in KiB. */
const file = process.env.BENCH_USAGE_FILE
if (isMainThread && file !== undefined) {
  process.on('exit', () => writeFileSync(file, String(maxRss())))
}

/** What Linux counts for a process as such begins with the memory of the one that started it: this is its own. */
function maxRss(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1])
}
