import type {
  SandboxCheckpoint,
  SandboxCheckpointStore,
  SandboxCheckpointWriter,
  SandboxSnapshotArtifact,
  SandboxSnapshotFileEntry,
} from '../../src/checkpoints/types.ts'

/** A value of the wrong type, on purpose. */
export function wrong<Type>(value: unknown): Type {
  return value as Type
}

export function fileKey(n: number): string {
  return `sandbox-files/sha256/${hash(n)}`
}

export function artifactKey(n: number): string {
  return `sandbox-artifacts/sha256/${hash(n)}`
}

function hash(n: number): string {
  return `abcdef${n.toString(16).padStart(58, '0')}`
}

export function file(path: string, n = 1): SandboxSnapshotFileEntry {
  return { path, kind: 'file', blobKey: fileKey(n), size: 3 }
}

export function artifact(n: number, artifactId = `artifact-${n}`): SandboxSnapshotArtifact {
  return { artifactId, name: 'report.pdf', mimeType: 'application/pdf', size: 7, blobKey: artifactKey(n), createdAt: 5 }
}

export function checkpoint(
  threadId: string,
  id: string,
  parentCheckpointId: string | null,
  fields: Partial<SandboxCheckpoint> = {},
): SandboxCheckpoint {
  return {
    id,
    threadId,
    parentCheckpointId,
    createdAt: 1_000,
    reason: 'automatic',
    files: [],
    conversation: [],
    artifacts: [],
    ...fields,
  }
}

/** A checkpoint with every field that the contract names, and some that it does not. */
export function fullCheckpoint(threadId: string, id: string, parentCheckpointId: string | null): SandboxCheckpoint {
  return checkpoint(threadId, id, parentCheckpointId, {
    createdAt: 1_234.5,
    reason: 'named',
    label: 'before the refactoring',
    sourceRunId: 'run-1',
    files: [file('src/a.ts', 1), { path: 'empty', kind: 'dir' }, { path: 'link', kind: 'symlink', target: '../out' }],
    conversation: [{ role: 'user', content: 'hello' }, { parts: [{ n: 1.5, none: null, yes: true, list: [[]] }] }],
    artifacts: [artifact(1)],
    ...wrong<Partial<SandboxCheckpoint>>({ note: { kept: ['as', 'it', 'is'] } }),
  })
}

/** Appends to the head of the writer's thread. */
export async function append(
  store: SandboxCheckpointStore,
  writer: SandboxCheckpointWriter,
  id: string,
  parentCheckpointId: string | null,
  fields: Partial<SandboxCheckpoint> = {},
): Promise<void> {
  await store.append({
    checkpoint: checkpoint(writer.threadId, id, parentCheckpointId, fields),
    expectedHeadId: parentCheckpointId,
    writer,
  })
}

/** A chain of these ids on an empty thread. The n-th (from 1) uses file key n. */
export async function grow(
  store: SandboxCheckpointStore,
  writer: SandboxCheckpointWriter,
  ids: ReadonlyArray<string>,
): Promise<void> {
  let parent: string | null = null
  for (const [index, id] of ids.entries()) {
    await append(store, writer, id, parent, { createdAt: index, files: [file('f', index + 1)] })
    parent = id
  }
}
