import {
  createMemoryCheckpointStore,
  createMemoryInstanceStore,
  runCheckpointStoreConformance,
  runCheckpointStoreOptionsConformance,
  runInstanceStoreConformance,
} from '../../testkit/index.ts'

runCheckpointStoreConformance('memory', createMemoryCheckpointStore)
runCheckpointStoreConformance('memory at 1970', createMemoryCheckpointStore, {
  now: () => 1_000,
  leaseDurationMs: 100,
  renewAfterMs: 25,
})
runCheckpointStoreOptionsConformance('memory', createMemoryCheckpointStore)
runInstanceStoreConformance('memory', createMemoryInstanceStore)
