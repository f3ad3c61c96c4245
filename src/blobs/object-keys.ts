import type { Scope } from '../tenancy/scope.ts'

/**
 * The first segment of every object's key. Lifecycle rules and grants name these. A scope's names hold no slash, so no
 * two scopes can make one key.
 */
export const OBJECT_PREFIXES = {
  /** Contents of files and artifacts, by their hash. */
  blobs: 'blobs/',
  /** Bodies of checkpoints that are too large for the table. */
  bodies: 'bodies/',
  /** Large request and answer bodies on their way; none is kept. */
  staging: 'staging/',
  /** What people may look for, by project: the summaries and artifacts of tasks. */
  projects: 'projects/',
  /** Small blobs of a workspace put together for a fast restore: derived, and free to be dropped. */
  bundles: 'bundles/',
  /** Contents of sandbox files. */
  files: 'files/',
} as const

/** Where all blobs of a scope begin. */
export function blobObjectPrefix(scope: Scope): string {
  return `${OBJECT_PREFIXES.blobs}${scope.tenant}/${scope.project}/`
}

/** The object of a blob; `key` is the contract's, such as `sandbox-files/sha256/<hex>`. */
export function blobObjectKey(scope: Scope, key: string): string {
  return blobObjectPrefix(scope) + key
}

/** Where all bodies of a scope begin. */
export function bodyObjectPrefix(scope: Scope): string {
  return `${OBJECT_PREFIXES.bodies}${scope.tenant}/${scope.project}/`
}

/** The object of a checkpoint's body; thread ids are of any length, so the thread stands by its hash. */
export function bodyObjectKey(scope: Scope, threadHash: string, name: string): string {
  return `${bodyObjectPrefix(scope)}${threadHash}/${name}`
}

/** Where all that is on its way of a scope begins. */
export function stagingObjectPrefix(scope: Scope): string {
  return `${OBJECT_PREFIXES.staging}${scope.tenant}/${scope.project}/`
}

export function stagingObjectKey(scope: Scope, id: string): string {
  return stagingObjectPrefix(scope) + id
}

/** Where the contents of all files of a scope begin. */
export function fileObjectPrefix(scope: Scope): string {
  return `${OBJECT_PREFIXES.files}${scope.tenant}/${scope.project}/`
}

export function fileObjectKey(scope: Scope, fileId: string): string {
  return fileObjectPrefix(scope) + fileId
}

/** Where all bundles of a scope begin, and the lists of them. */
export function bundleObjectPrefix(scope: Scope): string {
  return `${OBJECT_PREFIXES.bundles}${scope.tenant}/${scope.project}/`
}

export function bundleObjectKey(scope: Scope, id: string): string {
  return bundleObjectPrefix(scope) + id
}

/** Where all objects of a project's memory begin. */
export function memoryObjectPrefix(scope: Scope): string {
  return `${OBJECT_PREFIXES.projects}${scope.tenant}/${scope.project}/memory/`
}

/** Where all objects of a task begin. */
export function taskObjectPrefix(scope: Scope, taskId: string): string {
  return `${memoryObjectPrefix(scope)}tasks/${taskId}/`
}

/** The bytes of an artifact; `object` is a name that was never used before. */
export function artifactObjectKey(
  scope: Scope,
  { taskId, turn, name, object }: { taskId: string; turn: number; name: string; object: string },
): string {
  return `${turnObjectPrefix(scope, taskId, turn)}artifacts/${object}/${name}`
}

/** A summary that is too large for the table. */
export function summaryObjectKey(
  scope: Scope,
  { taskId, turn, object }: { taskId: string; turn: number; object: string },
): string {
  return `${turnObjectPrefix(scope, taskId, turn)}summary-${object}.md`
}

function turnObjectPrefix(scope: Scope, taskId: string, turn: number): string {
  return `${taskObjectPrefix(scope, taskId)}turns/${String(turn).padStart(4, '0')}/`
}

/** What the key of an object of a project's memory says; undefined when it is none. */
export function readMemoryObjectKey(
  scope: Scope,
  key: string,
): { taskId: string; turn: number; object: string } | undefined {
  const path = key.slice(memoryObjectPrefix(scope).length)
  const match = /^tasks\/([^/]+)\/turns\/(\d{4})\/(?:artifacts\/([^/]+)\/[^/]+|summary-([^/]+)\.md)$/.exec(path)
  const [, taskId, turn, artifact, summary] = match ?? []
  const object = artifact ?? summary
  return taskId === undefined || object === undefined ? undefined : { taskId, turn: Number(turn), object }
}
