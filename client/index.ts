import { ClientBlobStore } from './blobs.ts'
import { ClientCheckpointStore } from './checkpoints.ts'
import { ClientInstanceStore } from './instances.ts'
import { ClientKeyStore } from './keys.ts'
import { ClientMemory } from './memory.ts'
import { type ClientOptions, checkOptions } from './options.ts'
import { ClientSandboxes } from './sandboxes.ts'
import { ClientSweepService } from './sweeps.ts'
import { Transport } from './transport.ts'

export type { ArtifactContent } from './artifact-content.ts'
export type { ClientBlobStore } from './blobs.ts'
export type { ClientCheckpointStore } from './checkpoints.ts'
export { SandkeepHttpError, SandkeepNetworkError } from './errors.ts'
export type { ClientInstanceStore } from './instances.ts'
export type { ClientKeyStore } from './keys.ts'
export type { ClientMemory } from './memory.ts'
export type {
  Artifact,
  ArtifactBody,
  ArtifactId,
  PageOptions,
  PutArtifactInput,
  PutTurnInput,
  Task,
  TaskPage,
  TasksPage,
  Turn,
  TurnId,
  TurnMeta,
  TurnOverview,
} from './memory-types.ts'
export type { ClientOptions, TokenSource } from './options.ts'
export type {
  ClientSandboxes,
  CreateSandboxOptions,
  ListSandboxesOptions,
  ListSnapshotsOptions,
  Sandbox,
} from './sandboxes.ts'
export type { ClientSweepService } from './sweeps.ts'

const CHECKPOINTS_BASE = '/sandbox/checkpoints/v1'

/** The stores of one tenant and project, and their sweeps, over the API. */
export interface SandkeepClient {
  readonly checkpoints: ClientCheckpointStore
  readonly blobs: ClientBlobStore
  readonly instances: ClientInstanceStore
  readonly keys: ClientKeyStore
  readonly memory: ClientMemory
  readonly sandboxes: ClientSandboxes
  readonly sweeps: ClientSweepService
}

/**
 * A client of the API with the interfaces of the stores in process. It keeps no connection that has to be closed.
 * @throws InvalidInputError naming the option, or the header that a tenant or project would not fit.
 */
export function createClient(options: ClientOptions): SandkeepClient {
  const transport = new Transport(checkOptions(options))
  return {
    checkpoints: new ClientCheckpointStore(transport, CHECKPOINTS_BASE),
    blobs: new ClientBlobStore(transport, CHECKPOINTS_BASE),
    instances: new ClientInstanceStore(transport),
    keys: new ClientKeyStore(transport),
    memory: new ClientMemory(transport),
    sandboxes: new ClientSandboxes(transport),
    sweeps: new ClientSweepService(transport, CHECKPOINTS_BASE),
  }
}
