/** Conformance suites for stores of the contract, for vitest, and stores in memory that pass them. */
export {
  checkpointStoreChecks,
  runCheckpointStoreConformance,
  runCheckpointStoreOptionsConformance,
} from './checkpoint-store-conformance.ts'
export type { CheckpointStoreCheck, MakeCheckpointStore } from './checkpoints/check.ts'
export { checkpointStoreOptionChecks } from './checkpoints/option-checks.ts'
export {
  type InstanceStoreCheck,
  instanceStoreChecks,
  type MakeInstanceStore,
  runInstanceStoreConformance,
} from './instance-store-conformance.ts'
export { createMemoryCheckpointStore } from './memory-checkpoint-store.ts'
export { createMemoryInstanceStore } from './memory-instance-store.ts'
