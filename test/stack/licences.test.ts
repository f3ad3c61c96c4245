import { expect, test } from 'vitest'
import { ALLOWED_LICENCES, bundledPackages } from '../../scripts/bundled-packages.ts'

test('what is deployed is under licences that ask for no more than a notice, and has no part of other tools', async () => {
  const packages = await bundledPackages()
  expect(packages.filter(({ licence }) => !ALLOWED_LICENCES.has(licence))).toEqual([])
  const names = packages.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['@aws-sdk/client-dynamodb', 'zod']))
  for (const tool of ['aws-cdk-lib', 'constructs', 'esbuild', 'dynalite', 'vitest', 'commander', 'cli-progress']) {
    expect(names).not.toContain(tool)
  }
})
