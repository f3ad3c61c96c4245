import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hashFile } from '../../cli/workspace/hash.ts'
import { temporaryFolder } from './support/tree.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = temporaryFolder()
  file = join(folder, 'file')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')

/** Something that `hashFile` asks before it reads each chunk. */
function beforeEachRead(work: () => void): AbortSignal {
  const { signal } = new AbortController()
  signal.throwIfAborted = work
  return signal
}

test.each([0, 1, 262_143, 262_144, 262_145, 30 * 1024 * 1024])('%i bytes', async (size) => {
  const bytes = Buffer.alloc(size, 'sandkeep')
  writeFileSync(file, bytes)
  expect(await hashFile(file, 'file')).toMatchObject({ sha256: sha256(bytes), stamp: { size } })
})

test('a file that changes while it is read is read again', async () => {
  writeFileSync(file, 'first')
  let reads = 0
  const signal = beforeEachRead(() => {
    reads += 1
    if (reads <= 2) appendFileSync(file, '+')
  })
  const hashed = await hashFile(file, 'file', signal)
  expect(hashed).toMatchObject({ sha256: sha256('first++'), stamp: { size: 7 } })
})

test('a file that never holds still is refused by name', async () => {
  writeFileSync(file, 'first')
  let written = 5
  const signal = beforeEachRead(() => {
    appendFileSync(file, '+')
    written += 1
    // A reader that followed the growth would never end.
    if (written > 1_000) throw new Error('still reading')
  })
  await expect(hashFile(file, 'the file', signal)).rejects.toThrow('the file keeps changing')
})

test('a link or a folder that took the place of the file is not read', async () => {
  writeFileSync(join(folder, 'other'), 'x')
  symlinkSync('other', file)
  await expect(hashFile(file, 'file')).rejects.toThrow('keeps changing')
  mkdirSync(join(folder, 'dir'))
  await expect(hashFile(join(folder, 'dir'), 'dir')).rejects.toThrow('keeps changing')
  await expect(hashFile(join(folder, 'gone'), 'gone')).rejects.toThrow('ENOENT')
})
