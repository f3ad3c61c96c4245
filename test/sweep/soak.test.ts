import { afterAll, expect, it } from 'vitest'
import { startEngines } from '../support/engines.ts'
import { soak } from './soak.ts'

const engines = await startEngines()
afterAll(engines.stop)

const SOAK_MS = 60_000

it('loses nothing, and leaves nothing unused, under writers, sweepers, kills and faults', {
  timeout: 5 * SOAK_MS,
}, async () => {
  const { lost, atRest, ...totals } = await soak(engines, { ms: SOAK_MS, seed: 1 })
  expect(lost).toEqual([])
  expect(atRest).toMatchObject({ unreferencedBlobs: 0, unreferencedBytes: 0 })
  // All of it took place.
  for (const [name, count] of Object.entries(totals)) expect(count, name).toBeGreaterThan(0)
  expect(atRest.checkpoints).toBeGreaterThan(0)
})
