import { parseArgs } from 'node:util'
import { type Bench, type BenchResult, table } from './harness.ts'

/** Loaded one at a time: what a benchmark measures must not depend on what the others import. */
const BENCHES: Record<string, { what: string; load: () => Promise<Bench> }> = {
  append: {
    what: 'requests, write units and latency of an append, 1 to 100,000 files',
    load: async () => (await import('./append.ts')).append,
  },
  list: {
    what: '200 checkpoints of 1,000 files against a bare read of the same bytes',
    load: async () => (await import('./list.ts')).list,
  },
  push: {
    what: '5,000 files, 100 MB, then 10 changed, through the command line; memory at any size',
    load: async () => (await import('./push.ts')).push,
  },
  pull: {
    what: '5,000 files against the bare downloads of the same objects',
    load: async () => (await import('./pull.ts')).pull,
  },
  resume: {
    what: 'a workspace of 5,000 files restored, and saved after 10 changes, against restic',
    load: async () => (await import('./resume.ts')).resume,
  },
  sweep: {
    what: 'a sweep of 1,000,000 objects against only paging through the same lists; memory, requests, cost',
    load: async () => (await import('./sweep.ts')).sweep,
  },
  memory: {
    what: 'requests and write units of turns and artifacts, the time of the code, project.md of 10,000 tasks',
    load: async () => (await import('./memory.ts')).memory,
  },
  files: {
    what: 'the proxy: first byte, calls and memory; the list of files',
    load: async () => (await import('./files.ts')).files,
  },
  peers: {
    what: "states against LangGraph's saver for DynamoDB; workspaces against restic and a tar script",
    load: async () => (await import('./peers.ts')).peers,
  },
  bundle: {
    what: "size of each function's zip, and import time against the SDK clients alone",
    load: async () => (await import('./bundle.ts')).bundle,
  },
  handler: {
    what: 'what the code adds to one request, without the calls of the SDK',
    load: async () => (await import('./handler.ts')).handler,
  },
}

const USAGE = `Usage: npm run bench -- NAME [--json]

${Object.entries(BENCHES)
  .map(([name, { what }]) => `  ${name.padEnd(8)} ${what}`)
  .join('\n')}

Exits 1 when a bar is not met.
`

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const parsed = parse(args)
  if (!parsed) return usageError()
  if (parsed.name === undefined) {
    process.stdout.write(USAGE)
    return 0
  }
  const chosen = Object.hasOwn(BENCHES, parsed.name) ? BENCHES[parsed.name] : undefined
  if (!chosen) return usageError()
  const run = await chosen.load()
  const result = await run()
  process.stdout.write(parsed.json ? `${JSON.stringify({ bench: parsed.name, ...result })}\n` : report(result))
  return result.bars.every(({ ok }) => ok) ? 0 : 1
}

function parse(args: string[]): { name: string | undefined; json: boolean } | undefined {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { json: { type: 'boolean', default: false } },
    })
    return positionals.length > 1 ? undefined : { name: positionals[0], json: values.json }
  } catch {
    // parseArgs throws for options that it does not know.
    return undefined
  }
}

function usageError(): number {
  process.stderr.write(USAGE)
  return 2
}

function report({ rows, bars }: BenchResult): string {
  const lines = bars.map(({ ok, ...bar }) => ({
    bar: bar.name,
    value: bar.value,
    limit: bar.limit,
    unit: bar.unit,
    met: ok ? 'yes' : 'NO',
  }))
  return `${table(rows)}\n\n${table(lines)}\n`
}
