// Restores a checkpoint, and is killed by itself right before its n-th change of the file system.
import syncFs from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const [target = '', manifest = '', origin = '', killAt = '0'] = process.argv.slice(2)
let changes = 0

function beforeChange(): void {
  changes += 1
  if (changes === Number(killAt)) process.kill(process.pid, 'SIGKILL')
}

type Change = (...args: unknown[]) => unknown
function killBefore(module: object, names: readonly string[]): void {
  const mutable = module as Record<string, Change>
  for (const name of names) {
    const original = mutable[name]
    if (original === undefined) throw new Error(`no ${name}`)
    mutable[name] = (...args) => {
      // Opening to read changes nothing.
      if (!name.startsWith('open') || args[1] === 'w') beforeChange()
      return original(...args)
    }
  }
}
const names = ['mkdir', 'rename', 'symlink', 'unlink', 'rm', 'rmdir', 'chmod', 'copyFile', 'writeFile', 'open']
killBefore(fs, names)
killBefore(syncFs, [...names.map((name) => `${name}Sync`), 'writeSync', 'fchmodSync'])
syncBuiltinESMExports()

const { restoreWorkspace } = await import('../../../cli/workspace/restore.ts')
const { statCache } = await import('../../../cli/workspace/stat-cache.ts')
const { openProtectedPaths } = await import('../../../cli/workspace/protected-paths.ts')
const { createTransport } = await import('../../../cli/transfer/transport.ts')
const transport = createTransport()
const entries = JSON.parse(await fs.readFile(manifest, 'utf8'))
const sizes = new Map<string, number>(
  entries.map(({ blobKey, size }: { blobKey: string; size: number }) => [blobKey, size]),
)
await restoreWorkspace({
  root: target,
  entries,
  blobs: {
    prepareDownloads: async (keys) =>
      keys.map((key) => {
        const download = {
          method: 'GET' as const,
          url: `${origin}/${key}`,
          headers: {},
          expiresAt: Date.now() + 900_000,
        }
        return { key, size: sizes.get(key) ?? 0, download }
      }),
  },
  transport,
  cache: statCache(`${target}.cache`, target),
  protectedPaths: await openProtectedPaths(`${target}.state`, target),
  deletes: true,
  externalLinks: true,
  signal: new AbortController().signal,
  progress: { start: () => undefined, advance: () => undefined },
})
transport.close()
process.stdout.write(`${changes}\n`)
