import { rmSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { expect, test, vi } from 'vitest'
import { scanWorkspace } from '../../cli/workspace/scan.ts'
import { makeTree, temporaryFolder } from './support/tree.ts'

vi.mock('node:fs/promises', { spy: true })

test.each(['', 'sub/'])('a rule file (%s) that goes while it is looked for leaves out nothing else', async (folder) => {
  const root = makeTree(temporaryFolder(), { [`${folder}.gitignore`]: 'kept', [`${folder}kept`]: 'x', other: 'x' })
  const readFile = vi.mocked(fs.readFile)
  readFile.mockImplementationOnce(async () => {
    throw Object.assign(new Error('gone'), { code: 'ENOENT' })
  })
  const { entries } = await scanWorkspace(root)
  expect(entries.map(({ path }) => path)).toEqual(expect.arrayContaining([`${folder}kept`, 'other']))
  rmSync(root, { recursive: true })
})
