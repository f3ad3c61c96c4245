/** What `import … from 'sandkeep'` gives. */
export {
  type OpenWorkspaceInput,
  openWorkspace,
  type SaveWorkspaceOptions,
  type Workspace,
} from './cli/open-workspace.ts'
export * from './client/index.ts'
export { createBlobStore } from './src/blobs/store.ts'
export type * from './src/blobs/types.ts'
export * from './src/checkpoints/errors.ts'
export { createCheckpointStore } from './src/checkpoints/store.ts'
export type * from './src/checkpoints/types.ts'
export * from './src/errors.ts'
export { createInstanceStore } from './src/instances/store.ts'
export type * from './src/instances/types.ts'
export type * from './src/sandboxes/types.ts'
export type { SweepReport } from './src/sweep/report.ts'
export type { StartSweepOptions, SweepService } from './src/sweep/service.ts'
export { SweepIncompleteError, sweepSandboxBlobs } from './src/sweep/sweep-blobs.ts'
export type { Usage } from './src/sweep/usage.ts'
export type { Scope } from './src/tenancy/scope.ts'
