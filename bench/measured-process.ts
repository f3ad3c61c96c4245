import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

export interface Measured {
  /** From the start of the process to its end. */
  ms: number
  /** The most memory that it had (resident set). */
  peakBytes: number
  stdout: string
}

const preload = pathToFileURL(path.join(import.meta.dirname, 'report-usage.ts')).href

/** Runs node on a script, to its end. `flags`: those of node; `input`: its standard input. @throws Error with its stderr when it fails */
export async function runNode(
  script: string,
  args: readonly string[],
  { env, flags = [], input = '' }: { env: Record<string, string>; flags?: readonly string[]; input?: string },
): Promise<Measured> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-usage-'))
  try {
    const usageFile = path.join(folder, 'usage')
    const start = performance.now()
    const child = spawn(process.execPath, [`--import=${preload}`, ...flags, script, ...args], {
      env: { PATH: process.env.PATH ?? '', ...env, BENCH_USAGE_FILE: usageFile },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    child.stdin.end(input)
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    const ms = performance.now() - start
    if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${code}: ${stderr}`)
    return { ms, peakBytes: Number(await readFile(usageFile, 'utf8')) * 1024, stdout }
  } finally {
    await rm(folder, { recursive: true })
  }
}
