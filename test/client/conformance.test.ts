import { afterAll, beforeAll } from 'vitest'
import { runCheckpointStoreConformance, runInstanceStoreConformance } from '../../testkit/index.ts'
import { startTestApi, type TestApi } from '../http/support/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())

runCheckpointStoreConformance('over HTTP', (options = {}) => api.withOptions(options).client().checkpoints)
runInstanceStoreConformance('over HTTP', () => api.client().instances)
