// Restores a snapshot, or saves a workspace whenever it is told to, by the code of the built command. Plain JavaScript:
// to strip types when it runs would be measured too, and the command's are stripped when it is built.
import process from 'node:process'
import { keepGarbageSmall } from '../dist/cli/memory.js'
import { createClient } from '../dist/client/index.js'

keepGarbageSmall()
const [what = '', root = '', state = '', sandboxId = '', snapshotSeq = ''] = process.argv.slice(2)
const { BENCH_URL: url, BENCH_API_KEY: apiKey, BENCH_TENANT: tenant, BENCH_PROJECT: project } = process.env
const client = createClient({ url, apiKey, tenant, project })
const { statCache } = await import('../dist/cli/workspace/stat-cache.js')
const cache = statCache(state, root)
const signal = new AbortController().signal

if (what === 'restore') {
  const { restoreSnapshot } = await import('../dist/cli/actions/restore-snapshot.js')
  const { createTransport } = await import('../dist/cli/transfer/transport.js')
  const { openProtectedPaths } = await import('../dist/cli/workspace/protected-paths.js')
  const transport = createTransport()
  const progress = { start: () => undefined, advance: () => undefined }
  const protectedPaths = await openProtectedPaths(state, root)
  const snapshot = { sandboxId, snapshotSeq: Number(snapshotSeq) }
  const sandboxes = client.sandboxes
  const target = { root, cache, protectedPaths, externalLinks: true }
  const { downloads } = await restoreSnapshot({ sandboxes, snapshot, ...target, transport, signal, progress })
  transport.close()
  process.stdout.write(String(downloads))
} else {
  const { NO_CONTENTS, WorkspaceSaver } = await import('../dist/cli/run/saver.js')
  const input = { client, sandboxId, root, cache, begun: cache, contents: NO_CONTENTS, signal }
  const saver = new WorkspaceSaver({ ...input, note: () => undefined })
  process.on('message', async (reason) => {
    const start = performance.now()
    const { snapshotSeq } = await saver.save(reason)
    process.send({ snapshotSeq, ms: performance.now() - start })
  })
}
