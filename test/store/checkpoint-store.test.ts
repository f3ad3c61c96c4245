import { afterAll } from 'vitest'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import { runCheckpointStoreConformance, runCheckpointStoreOptionsConformance } from '../../testkit/index.ts'
import { startEngines } from '../support/engines.ts'

const { freshScope, stop, ...engines } = await startEngines()
afterAll(stop)

runCheckpointStoreConformance('in process', (options) =>
  createCheckpointStore({ ...engines, scope: freshScope(), ...options }),
)

runCheckpointStoreOptionsConformance('in process', (options) =>
  createCheckpointStore({ ...engines, scope: freshScope(), ...options }),
)
