import { rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFolder } from '../../cli/workspace/make-folder.ts'
import { temporaryFolder } from './support/tree.ts'

let base: string

beforeEach(() => {
  base = temporaryFolder()
})

afterEach(() => rmSync(base, { recursive: true, force: true }))

test('makes a folder with those above it, and tells whether it was there', async () => {
  const deep = join(base, 'a/b/c')
  expect(await makeFolder(deep, 0o700)).toBe(true)
  expect(statSync(deep).mode & 0o777).toBe(0o700)
  expect(await makeFolder(deep)).toBe(false)
  expect(await makeFolder(`${deep}/`)).toBe(false)
  symlinkSync('a', join(base, 'link'))
  expect(await makeFolder(join(base, 'link'))).toBe(false)
  expect(await makeFolder('/')).toBe(false)
})

test('fails where something else stands', async () => {
  writeFileSync(join(base, 'file'), '')
  symlinkSync('nothing', join(base, 'dangling'))
  await expect(makeFolder(join(base, 'file'))).rejects.toThrow('EEXIST')
  await expect(makeFolder(join(base, 'file/inner/most'))).rejects.toThrow('ENOTDIR')
  await expect(makeFolder(join(base, 'dangling'))).rejects.toThrow('EEXIST')
  await expect(makeFolder(join(base, 'dangling/inner'))).rejects.toThrow('EEXIST')
})

test('ends where a file system has no room for new names', async () => {
  // Answers any new name with ENOENT where there is such a file system, and is no place to write to elsewhere.
  await expect(makeFolder('/proc/sandkeep/inner')).rejects.toThrow('mkdir')
})
