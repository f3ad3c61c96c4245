import { createHash } from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { restoreSnapshot } from '../../cli/actions/restore-snapshot.ts'
import { MissingError, RefusedError } from '../../cli/errors.ts'
import { createTransport, type Transport } from '../../cli/transfer/transport.ts'
import { openProtectedPaths } from '../../cli/workspace/protected-paths.ts'
import { statCache } from '../../cli/workspace/stat-cache.ts'
import type { BundleDownload, SnapshotDownloads } from '../../src/bundles/types.ts'
import type { SandboxSnapshotEntry, SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { EXCHANGE_LIMIT } from '../../src/limits.ts'
import type { SnapshotManifest } from '../../src/sandboxes/types.ts'
import { type FakeDeployment, startFakeDeployment } from './support/fake-deployment.ts'
import { makeTree, readTree, temporaryFolder } from './support/tree.ts'

let fake: FakeDeployment
let base: string
let target: string
let transport: Transport

beforeEach(async () => {
  fake = await startFakeDeployment()
  base = temporaryFolder()
  target = join(base, 'target')
  transport = createTransport()
})

afterEach(async () => {
  vi.restoreAllMocks()
  transport.close()
  await fake.stop()
  rmSync(base, { recursive: true, force: true })
})

const snapshot = { sandboxId: 'sandbox', snapshotSeq: 1 }

function put(text: string): Pick<SandboxSnapshotFileEntry, 'kind' | 'blobKey' | 'size'> {
  const bytes = Buffer.from(text)
  const blobKey = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
  fake.blobs.set(blobKey, bytes)
  return { kind: 'file', blobKey, size: bytes.length }
}

/** A bundle of the files, each with something before it that nobody wants. */
async function bundleOf(name: string, files: readonly SandboxSnapshotFileEntry[]): Promise<BundleDownload> {
  const entries: BundleDownload['entries'] = []
  const parts: Buffer[] = []
  let offset = 0
  for (const { blobKey, size } of files) {
    parts.push(Buffer.from('--'), fake.blobs.get(blobKey) ?? Buffer.alloc(0))
    entries.push({ key: blobKey, size, offset: offset + 2 })
    offset += 2 + size
  }
  fake.blobs.set(name, Buffer.concat(parts))
  const download = (await fake.client.blobs.prepareDownloads([name]))[0]?.download
  if (!download) throw new Error('The bundle is not there.')
  fake.requests.length = 0
  return { id: name, size: offset, download, entries }
}

function restore(
  files: SandboxSnapshotEntry[],
  bundles: BundleDownload[],
  more: Partial<SnapshotDownloads> = {},
): ReturnType<typeof restoreSnapshot> & { asked: (readonly string[])[] } {
  const asked: (readonly string[])[] = []
  const sandboxes = {
    getSnapshot: async () => ({ files }) as unknown as SnapshotManifest,
    async snapshotDownloads(_name: object, keys?: readonly string[]): Promise<SnapshotDownloads> {
      if (keys === undefined) return { bundles, blobs: [], missing: [], rest: [], ...more }
      asked.push(keys)
      const found = await fake.client.blobs.prepareDownloads(keys)
      const blobs = found.flatMap((blob) => (blob.download === null ? [] : blob))
      return { bundles: [], blobs, missing: [], rest: [] }
    },
  }
  return Object.assign(run(sandboxes), { asked })
}

async function run(sandboxes: Parameters<typeof restoreSnapshot>[0]['sandboxes']) {
  return restoreSnapshot({
    sandboxes,
    snapshot,
    root: target,
    transport,
    cache: statCache(join(base, 'cache'), target),
    protectedPaths: await openProtectedPaths(join(base, 'state'), target),
    externalLinks: true,
    signal: new AbortController().signal,
    progress: { start: () => undefined, advance: () => undefined },
  })
}

const files = (): SandboxSnapshotFileEntry[] => [
  { path: 'a', ...put('first'), mode: 0o644 },
  { path: 'b/c.sh', ...put('second'), mode: 0o755 },
  { path: 'b/same', ...put('first'), mode: 0o600 },
  { path: 'empty', ...put(''), mode: 0o644 },
  { path: 'last', ...put('the last one'), mode: 0o444 },
]
const tree = { a: 'first', 'b/c.sh': { text: 'second', mode: 0o755 }, empty: '' }

function expected() {
  return readTree(
    makeTree(join(base, 'expected'), {
      ...tree,
      'b/same': { text: 'first', mode: 0o600 },
      last: { text: 'the last one', mode: 0o444 },
    }),
  )
}

test('one request a bundle brings files with their modes, copies, empty ones, links and folders', async () => {
  const entries = files()
  const bundle = await bundleOf('bundle', entries)
  const extra: SandboxSnapshotEntry[] = [
    { path: 'link', kind: 'symlink', target: 'b/c.sh' },
    { path: 'folder', kind: 'dir' },
  ]
  const restored = await restore([...entries, ...extra], [bundle])
  expect(restored).toMatchObject({ filesWritten: 5, linksWritten: 1, downloads: 1, downloadedBytes: 23 })
  expect(restored.manifest.files).toHaveLength(7)
  expect(fake.requests).toEqual(['GET'])
  const whole = makeTree(join(base, 'whole'), { link: { link: 'b/c.sh' }, folder: { dir: true } })
  expect(readTree(target)).toEqual({ ...expected(), ...readTree(whole) })
})

test('the same when the file system is slow', async () => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 100
    return now
  })
  const entries = files()
  const many = Array.from({ length: 50 }, (_, index) => ({
    path: `many/${index}`,
    ...put(`many ${index}`),
    mode: 0o644,
  }))
  const restored = await restore([...entries, ...many], [await bundleOf('bundle', [...entries, ...many])])
  expect(restored.downloads).toBe(1)
  expect(fake.requests).toEqual(['GET'])
  const of = Object.fromEntries(many.map(({ path }, index) => [path, `many ${index}`]))
  expect(readTree(target)).toEqual({ ...expected(), ...readTree(makeTree(join(base, 'many'), of)) })
})

const faults: Array<[string, (bundle: BundleDownload) => BundleDownload]> = [
  [
    'is gone',
    (bundle) => {
      fake.blobs.delete('bundle')
      return bundle
    },
  ],
  [
    'is damaged in the middle',
    (bundle) => {
      const bytes = Buffer.from(fake.blobs.get('bundle') ?? '')
      bytes[9] = 0
      fake.blobs.set('bundle', bytes)
      return bundle
    },
  ],
  [
    'is shorter',
    (bundle) => {
      fake.blobs.set('bundle', (fake.blobs.get('bundle') ?? Buffer.alloc(0)).subarray(0, 12))
      return bundle
    },
  ],
  ['has wrong offsets', (bundle) => ({ ...bundle, entries: bundle.entries.map((entry) => ({ ...entry, offset: 1 })) })],
  ['has wrong sizes', (bundle) => ({ ...bundle, entries: bundle.entries.map((entry) => ({ ...entry, size: 3 })) })],
  [
    'names what the snapshot does not hold',
    (bundle) => ({ ...bundle, entries: [{ ...put('strange'), key: put('strange').blobKey, offset: 2 }] }),
  ],
  ['has no entries', (bundle) => ({ ...bundle, entries: [] })],
  [
    'is refused since its request ran out',
    (bundle) => ({ ...bundle, download: { ...bundle.download, expiresAt: Date.now() } }),
  ],
]

test.for(faults)('what a bundle that %s does not bring comes by itself', async ([, spoil]) => {
  const entries = files()
  const bundle = spoil(await bundleOf('bundle', entries))
  await restore(entries, [bundle])
  expect(readTree(target)).toEqual(expected())
})

test('after a connection that breaks the bundle is asked for again, and only for what did not come', async () => {
  const entries = files()
  const bundle = await bundleOf('bundle', entries)
  let broken = 0
  fake.intercept = (request, response) => {
    if (request.url !== '/bundle' || broken === 1) return false
    broken += 1
    const bytes = fake.blobs.get('bundle') ?? Buffer.alloc(0)
    response.writeHead(200, { 'content-length': bytes.length })
    response.write(bytes.subarray(0, 12), () => response.destroy())
    return true
  }
  const restored = await restore(entries, [bundle])
  expect(fake.requests).toEqual(['GET', 'GET'])
  expect(restored.downloadedBytes).toBe(23)
  expect(readTree(target)).toEqual(expected())
})

test('the single downloads of the plan are used, and only others are asked for', async () => {
  const entries = files()
  const [first, second] = entries
  const planned = await fake.client.blobs.prepareDownloads([first?.blobKey ?? ''])
  const running = restore(entries, [await bundleOf('bundle', entries.slice(3))], {
    blobs: planned.flatMap((blob) => (blob.download === null ? [] : blob)),
    rest: [second?.blobKey ?? ''],
  })
  await running
  expect(running.asked).toEqual([[second?.blobKey]])
  expect(readTree(target)).toEqual(expected())
})

test('of many that are in no bundle no request asks for too many', async () => {
  const many = Array.from({ length: EXCHANGE_LIMIT + 1 }, (_, index) => ({ path: `${index}`, ...put(`${index}`) }))
  const running = restore(many, [])
  await running
  expect(running.asked.map(({ length }) => length)).toEqual([EXCHANGE_LIMIT, 1])
  expect(readdirSync(target)).toHaveLength(EXCHANGE_LIMIT + 1)
})

test('nothing is written when a blob is neither in a good bundle nor in the store', async () => {
  const entries = files()
  const bundle = await bundleOf('bundle', entries)
  fake.blobs.set('bundle', Buffer.alloc(bundle.size))
  fake.blobs.delete(entries[1]?.blobKey ?? '')
  await expect(restore(entries, [bundle])).rejects.toThrow(RefusedError)
  expect(existsSync(target)).toBe(false)
})

test('nothing is written when the snapshot says another size than the content has', async () => {
  const entries = files()
  const bundle = await bundleOf('bundle', entries)
  const wrong = entries.map((entry) => (entry.path === 'last' ? { ...entry, size: entry.size - 1 } : entry))
  await expect(restore(wrong, [bundle])).rejects.toThrow('damaged')
  expect(existsSync(target)).toBe(false)
})

test('a blob that is lost from the store still comes by a bundle that holds it', async () => {
  const entries = files()
  const bundle = await bundleOf('bundle', entries)
  for (const { blobKey } of entries) fake.blobs.delete(blobKey)
  await restore(entries, [bundle])
  expect(readTree(target)).toEqual(expected())
})

test('a snapshot that is not there, or whose downloads cannot be had, leaves no folder', async () => {
  const gone = {
    getSnapshot: async () => null,
    snapshotDownloads: () => Promise.reject(new Error('not found')),
  }
  await expect(run(gone)).rejects.toThrow(MissingError)
  const failing = { ...gone, getSnapshot: async () => ({ files: files() }) as unknown as SnapshotManifest }
  await expect(run(failing)).rejects.toThrow('not found')
  expect(existsSync(target)).toBe(false)
})
