import { afterAll, expect, it } from 'vitest'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import { startEngines } from '../support/engines.ts'
import { checkpointStoreMatchesModel } from './model.ts'

const runs = Number(process.env.SANDKEEP_MODEL_RUNS ?? 100)
const seed = Number(process.env.SANDKEEP_MODEL_SEED ?? 20_260_102)

const { freshScope, stop, ...engines } = await startEngines()
afterAll(stop)

it(
  `the store does as the model in ${runs} random sequences (SANDKEEP_MODEL_SEED=${seed})`,
  async () => {
    expect(runs).toBeGreaterThan(0)
    await checkpointStoreMatchesModel(
      (options) => createCheckpointStore({ ...engines, scope: freshScope(), ...options }),
      { runs, seed },
    )
  },
  60_000 + runs * 5_000,
)
