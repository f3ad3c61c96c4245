import packageJson from 'sandkeep/package.json' with { type: 'json' }
import { expect, test } from 'vitest'
import { nodeRefusal } from '../../cli/node-version.ts'

test.each(['18.20.8', '20.19.0', '22.9.0', '22.14.0'])('Node %s is refused in one line', (version) => {
  expect(nodeRefusal(version)).toBe(`sandkeep: needs Node 22.15 or later; this is ${version}.`)
})

test.each(['22.15.0', '22.15.0-nightly1', '23.0.0', '24.1.0'])('Node %s will do', (version) => {
  expect(nodeRefusal(version)).toBeUndefined()
})

test('the package asks for the same version', () => {
  expect(packageJson.engines.node).toBe('>=22.15')
})
