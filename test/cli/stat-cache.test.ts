import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FileStamp } from '../../cli/workspace/scan.ts'
import { type KeptFile, statCache } from '../../cli/workspace/stat-cache.ts'
import { temporaryFolder } from './support/tree.ts'

const START_MS = 1_700_000_000_000
const START_NS = BigInt(START_MS) * 1_000_000n
const SHA = 'a'.repeat(64)
let folder: string

beforeEach(() => {
  folder = join(temporaryFolder(), 'cache')
})

afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

function file(changes: Partial<FileStamp> = {}, path = 'a\nb'): KeptFile {
  const old = START_NS - 60_000_000_123n
  return { path, sha256: SHA, stamp: { size: 5, mtimeNs: old, ctimeNs: old, ino: 7n, mode: 0o644, ...changes } }
}

/** The hashes that the cache of a folder has for these files, by path. */
async function recalled(files: KeptFile[], directory = '/w'): Promise<Array<string | null>> {
  const hashes: Array<string | null> = []
  for await (const [{ stamp }, recall] of statCache(folder, directory).along(files)) hashes.push(recall(stamp))
  return hashes
}

async function remembered(kept: KeptFile): Promise<boolean> {
  await statCache(folder, '/w').save([kept], START_MS)
  const [sha256] = await recalled([kept])
  return sha256 === SHA
}

test('knows a file again while size, times and inode are the same', async () => {
  expect(await remembered(file())).toBe(true)
  expect(await recalled([file({ mode: 0o755 })])).toEqual([SHA])
  expect(await recalled([file({}, 'other')])).toEqual([null])
  for (const change of [{ size: 6 }, { mtimeNs: 1n }, { ctimeNs: 1n }, { ino: 8n }]) {
    expect(await recalled([file(change)])).toEqual([null])
  }
})

test('knows files again whatever came and went between them', async () => {
  const paths = Array.from({ length: 3_000 }, (_, index) => `caf\u00e9/${index}`).sort()
  const hashOf = (path: string) => createHash('sha256').update(path).digest('hex')
  const files = paths.map((path) => ({ ...file({}, path), sha256: hashOf(path) }))
  await statCache(folder, '/w').save(
    files.filter((_, index) => index % 3 !== 0),
    START_MS,
  )
  const now = files.filter((_, index) => index % 5 !== 0)
  const expected = now.map(({ path }) => (paths.indexOf(path) % 3 === 0 ? null : hashOf(path)))
  expect(await recalled(now)).toEqual(expected)
})

test('does not remember a file without a hash', async () => {
  expect(await remembered({ ...file(), sha256: null })).toBe(false)
})

test('does not trust what is as young as a step of the clock when the scan starts', async () => {
  expect(await remembered(file({ ctimeNs: START_NS - 20_000_001n }))).toBe(true)
  expect(await remembered(file({ ctimeNs: START_NS - 20_000_000n + 1n }))).toBe(false)
  expect(await remembered(file({ mtimeNs: START_NS - 5n }))).toBe(false)
  expect(await remembered(file({ mtimeNs: START_NS + 10n ** 12n }))).toBe(false)
  // Whole seconds: a file system whose clock may take two-second steps.
  expect(await remembered(file({ ctimeNs: START_NS - 2_000_000_000n }))).toBe(false)
  expect(await remembered(file({ ctimeNs: START_NS - 3_000_000_000n }))).toBe(true)
})

test('keeps folders apart', async () => {
  await remembered(file())
  expect(await recalled([file()], '/w2')).toEqual([null])
})

test('takes a damaged cache for an empty one, and replaces it', async () => {
  await remembered(file())
  const [name = ''] = readdirSync(folder)
  const whole = readFileSync(join(folder, name), 'utf8')
  const damaged = [
    '',
    'x',
    'null\n',
    whole.slice(0, -10),
    whole.replace(/\n.*\n$/, '\n'),
    whole.replace(SHA, 'short'),
    whole.replace('/w', '/v'),
    whole.replace('sandkeep-stat-cache-2', 'sandkeep-stat-cache-1'),
    whole.replace(/ \d+ \d+ /, ' 1.5 x '),
  ].filter((text) => text !== whole)
  expect(damaged).toHaveLength(9)
  for (const text of damaged) {
    writeFileSync(join(folder, name), text)
    expect(await recalled([file()])).toEqual([null])
    expect(await remembered(file())).toBe(true)
  }
})

test('leaves nothing behind when it cannot be saved', async () => {
  mkdirSync(folder, { recursive: true })
  await remembered(file())
  const [name = ''] = readdirSync(folder)
  rmSync(join(folder, name))
  mkdirSync(join(folder, name))
  await expect(statCache(folder, '/w').save([], START_MS)).rejects.toThrow()
  expect(readdirSync(folder)).toEqual([name])
})
