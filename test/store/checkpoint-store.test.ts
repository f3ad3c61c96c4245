import { afterAll, describe } from 'vitest'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxCheckpointStoreOptions } from '../../src/checkpoints/types.ts'
import { checkpointStoreChecks, checkpointStoreOptionChecks } from '../../testkit/index.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'

const { freshScope, stop, ...engines } = await startEngines()
afterAll(stop)

const makeStore = (options?: SandboxCheckpointStoreOptions) =>
  createCheckpointStore({ ...engines, scope: freshScope(), ...options })

// The suites by their checks: an independent engine may be known not to pass one of them.
describe('checkpoint store contract, in process', () => {
  for (const { name, run } of [...checkpointStoreChecks, ...checkpointStoreOptionChecks]) {
    check(name, async () => run(makeStore))
  }
})
