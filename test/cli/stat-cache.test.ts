import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { HashedFile } from '../../cli/workspace/hash.ts'
import { openStatCache } from '../../cli/workspace/stat-cache.ts'
import { temporaryFolder } from './support/tree.ts'

const START_MS = 1_700_000_000_000
const START_NS = BigInt(START_MS) * 1_000_000n
const SHA = 'a'.repeat(64)
let folder: string

beforeEach(() => {
  folder = join(temporaryFolder(), 'cache')
})

afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

function file(changes: Partial<HashedFile['stamp']> = {}): HashedFile {
  const old = START_NS - 60_000_000_123n
  return { sha256: SHA, stamp: { size: 5, mtimeNs: old, ctimeNs: old, ino: 7n, mode: 0o644, ...changes } }
}

async function remembered(hashed: HashedFile): Promise<boolean> {
  await (await openStatCache(folder, '/w')).save(new Map([['a\nb', hashed]]), START_MS)
  return (await openStatCache(folder, '/w')).lookup('a\nb', hashed.stamp) === SHA
}

test('knows a file again while size, times and inode are the same', async () => {
  const hashed = file()
  expect(await remembered(hashed)).toBe(true)
  const cache = await openStatCache(folder, '/w')
  expect(cache.lookup('a\nb', { ...hashed.stamp, mode: 0o755 })).toBe(SHA)
  expect(cache.lookup('other', hashed.stamp)).toBeUndefined()
  for (const change of [{ size: 6 }, { mtimeNs: 1n }, { ctimeNs: 1n }, { ino: 8n }]) {
    expect(cache.lookup('a\nb', { ...hashed.stamp, ...change })).toBeUndefined()
  }
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
  expect((await openStatCache(folder, '/w2')).lookup('a\nb', file().stamp)).toBeUndefined()
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
    whole.replace('sandkeep-stat-cache-1', 'sandkeep-stat-cache-9'),
    whole.replace(/ \d+ \d+ /, ' 1.5 x '),
  ].filter((text) => text !== whole)
  expect(damaged).toHaveLength(9)
  for (const text of damaged) {
    writeFileSync(join(folder, name), text)
    expect((await openStatCache(folder, '/w')).lookup('a\nb', file().stamp)).toBeUndefined()
    expect(await remembered(file())).toBe(true)
  }
})

test('leaves nothing behind when it cannot be saved', async () => {
  mkdirSync(folder, { recursive: true })
  await remembered(file())
  const [name = ''] = readdirSync(folder)
  rmSync(join(folder, name))
  mkdirSync(join(folder, name))
  const cache = await openStatCache(folder, '/w')
  await expect(cache.save(new Map(), START_MS)).rejects.toThrow()
  expect(readdirSync(folder)).toEqual([name])
})
