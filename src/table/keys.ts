import type { Scope } from '../tenancy/scope.ts'

/**
 * The one module that knows how keys of the table are made.
 *
 * | item       | pk                              | sk                          |
 * |------------|---------------------------------|-----------------------------|
 * | thread     | `C#tenant#project#shard`        | `<thread hash>#`            |
 * | checkpoint | `C#tenant#project#shard`        | `<thread hash>#<sequence>`  |
 * | id         | `I#tenant#project#<id hash>`    | `I`                         |
 * | instance   | `N#tenant#project#<key hash>`   | `N`                         |
 * | sweep      | `W#tenant#project`              | what `src/sweep` names      |
 * | report     | `R#tenant#project`              | `<time>#<run>`              |
 * | scope      | `SCOPES`                        | `tenant#project`            |
 * | API key    | `KEYS`                          | `<key id>`                  |
 * | key count  | `KEY_COUNT`                     | `KEY_COUNT`                 |
 * | task       | `M#tenant#project`              | `<task id>`                 |
 * | excerpt    | `X#tenant#project`              | `<task id>`                 |
 * | turn       | `T#tenant#project#<task id>`    | `<turn>` and what is of it  |
 * | dead task  | `D#tenant#project`              | `<task id>#<generation>`    |
 * | sandbox    | `B#tenant#project`              | `<sandbox id>`              |
 * | snapshot   | `S#tenant#project#<sandbox id>` | `<snapshot sequence>`       |
 * | workspace  | `K#tenant#project`              | `<workspace key>`           |
 * | its sandbox| `K#tenant#project`              | `<workspace key>#<order>`   |
 * | fingerprint| `G#tenant#project#<hash>`       | what `src/sandboxes` names  |
 * | file       | `F#tenant#project`              | `f#<file id>`               |
 * | listed file| `F#tenant#project#<owner hash>` | `<time>#<file id>`          |
 * | file intent| `F#tenant#project`              | `i#<time>#<random>`         |
 * | claim      | `P#<provider's id>`             | `P`                         |
 * | provider id| `A#tenant#project#<owner hash>` | what `src/anthropic` names  |
 * | upload     | `U#tenant#project`              | `<upload id>`               |
 * | bundles    | `V#tenant#project`              | `<hash of a workspace>`     |
 *
 * Tenants and projects hold no `#`, and everything arbitrary is a hash, so that no two parts can join to the same key.
 * A thread lies beside its checkpoints: one query reads both, and four, one a shard, read a whole
 * scope.
 */
export interface Key {
  pk: string
  sk: string
}

/**
 * The shards of a scope, in the order of the hashes of the threads in them. Four spread the writes of a busy scope over
 * as many partitions as a new on-demand table has; DynamoDB splits a hot one further, between threads.
 */
export const SHARDS: readonly string[] = ['0', '1', '2', '3']

const SEQUENCE_DIGITS = 16

export function shardPartition(scope: Scope, shard: string): string {
  return `C#${scope.tenant}#${scope.project}#${shard}`
}

function shardOf(threadHash: string): string {
  return String(Number.parseInt(threadHash.slice(0, 1), 16) >> 2)
}

/** The thread's item, which sorts before its checkpoints, and the prefix of all their sort keys. */
export function threadKey(scope: Scope, threadHash: string): Key {
  return { pk: shardPartition(scope, shardOf(threadHash)), sk: `${threadHash}#` }
}

export function checkpointKey(scope: Scope, threadHash: string, sequence: number): Key {
  const { pk, sk } = threadKey(scope, threadHash)
  return { pk, sk: sk + sequenceText(sequence) }
}

/** A sequence number as text that sorts as the numbers do. */
export function sequenceText(sequence: number): string {
  return String(sequence).padStart(SEQUENCE_DIGITS, '0')
}

/** The hash of the thread that an item of a shard belongs to. */
export function threadHashOf(sortKey: string): string {
  return sortKey.slice(0, sortKey.indexOf('#'))
}

export function idKey(scope: Scope, idHash: string): Key {
  return { pk: `I#${scope.tenant}#${scope.project}#${idHash}`, sk: 'I' }
}

export function instanceKey(scope: Scope, keyHash: string): Key {
  return { pk: `N#${scope.tenant}#${scope.project}#${keyHash}`, sk: 'N' }
}

/** The partition of a sweep's own state. */
export function sweepPartition(scope: Scope): string {
  return `W#${scope.tenant}#${scope.project}`
}

export function sweepKey(scope: Scope, name: string): Key {
  return { pk: sweepPartition(scope), sk: name }
}

/** The partition of the reports of past sweeps. */
export function reportPartition(scope: Scope): string {
  return `R#${scope.tenant}#${scope.project}`
}

export const SCOPES_PARTITION = 'SCOPES'

export function scopeKey(scope: Scope): Key {
  return { pk: SCOPES_PARTITION, sk: `${scope.tenant}#${scope.project}` }
}

export function scopeOf(sortKey: string): Scope {
  const [tenant = '', project = ''] = sortKey.split('#')
  return { tenant, project }
}

export const API_KEYS_PARTITION = 'KEYS'

export function apiKeyKey(keyId: string): Key {
  return { pk: API_KEYS_PARTITION, sk: keyId }
}

/** How many API keys have been made. */
export const KEY_COUNT: Key = { pk: 'KEY_COUNT', sk: 'KEY_COUNT' }

/** The partition of the tasks of a project: the catalog of its memory. */
export function taskPartition(scope: Scope): string {
  return `M#${scope.tenant}#${scope.project}`
}

export function taskKey(scope: Scope, taskId: string): Key {
  return { pk: taskPartition(scope), sk: taskId }
}

/** The beginning of a task's newest summary, apart from the task: it is written less often. */
export function excerptKey(scope: Scope, taskId: string): Key {
  return { pk: excerptPartition(scope), sk: taskId }
}

export function excerptPartition(scope: Scope): string {
  return `X#${scope.tenant}#${scope.project}`
}

/** The partition of the turns of a task, of all its generations. Task ids hold no `#`. */
export function turnPartition(scope: Scope, taskId: string): string {
  return `T#${scope.tenant}#${scope.project}#${taskId}`
}

/** The partition of what is left of deleted tasks. */
export function deadTaskPartition(scope: Scope): string {
  return `D#${scope.tenant}#${scope.project}`
}

export function sandboxPartition(scope: Scope): string {
  return `B#${scope.tenant}#${scope.project}`
}

export function sandboxKey(scope: Scope, sandboxId: string): Key {
  return { pk: sandboxPartition(scope), sk: sandboxId }
}

/** The partition of the snapshots of a sandbox. */
export function snapshotPartition(scope: Scope, sandboxId: string): string {
  return `S#${scope.tenant}#${scope.project}#${sandboxId}`
}

export function snapshotKey(scope: Scope, sandboxId: string, snapshotSeq: number): Key {
  return { pk: snapshotPartition(scope, sandboxId), sk: sequenceText(snapshotSeq) }
}

export function workspaceKey(scope: Scope, name: string): Key {
  return { pk: `K#${scope.tenant}#${scope.project}`, sk: name }
}

/** The entry of a sandbox among those of its workspace key, by the order of their creation. Names hold no `#`. */
export function workspaceSandboxKey(scope: Scope, name: string, order: number): Key {
  const { pk, sk } = workspaceKey(scope, name)
  return { pk, sk: `${sk}#${sequenceText(order)}` }
}

export function fingerprintPartition(scope: Scope, fingerprintHash: string): string {
  return `G#${scope.tenant}#${scope.project}#${fingerprintHash}`
}

/** The partition of all files of a project, by id, and of what its uploads to a provider have begun. */
export function filesPartition(scope: Scope): string {
  return `F#${scope.tenant}#${scope.project}`
}

/** What the sort keys of files, and of intents to upload one, begin with. */
export const FILE_ITEMS = 'f#'
export const FILE_INTENTS = 'i#'

export function fileKey(scope: Scope, fileId: string): Key {
  return { pk: filesPartition(scope), sk: FILE_ITEMS + fileId }
}

/** Names of intents sort by the time of their beginning. */
export function fileIntentKey(scope: Scope, name: string): Key {
  return { pk: filesPartition(scope), sk: FILE_INTENTS + name }
}

/** The list of the files of one owner. */
export function filePartition(scope: Scope, ownerHash: string): string {
  return `${filesPartition(scope)}#${ownerHash}`
}

/** Says that what a provider has under an id belongs to a project of this table. */
export function providerClaimKey(providerId: string): Key {
  return { pk: `P#${providerId}`, sk: 'P' }
}

/** The partition of the containers of one owner. */
export function providerIdPartition(scope: Scope, ownerHash: string): string {
  return `A#${scope.tenant}#${scope.project}#${ownerHash}`
}

/** What the sort keys begin with that list the containers of an owner by the time of their creation. */
export const CONTAINER_PLACES = 't#'

export function containerKey(scope: Scope, ownerHash: string, containerId: string): Key {
  return { pk: providerIdPartition(scope, ownerHash), sk: `c#${containerId}` }
}

/** The partition of uploads on their way to be artifacts or files. */
export function uploadPartition(scope: Scope): string {
  return `U#${scope.tenant}#${scope.project}`
}

export function uploadKey(scope: Scope, uploadId: string): Key {
  return { pk: uploadPartition(scope), sk: uploadId }
}

/** Of a turn 0 to 9999: what is of it sorts behind it, and before the next. */
export function turnKey(scope: Scope, taskId: string, turn: number): Key {
  return { pk: turnPartition(scope, taskId), sk: turnSortKey(turn) }
}

export function turnSortKey(turn: number): string {
  return String(turn).padStart(4, '0')
}

/** Behind all that is of a turn: no item has it. */
export function turnEndSortKey(turn: number): string {
  return `${turnSortKey(turn)}#~`
}

/** The item that tells the artifacts of a turn. */
export function artifactIndexKey(scope: Scope, taskId: string, turn: number): Key {
  return { pk: turnPartition(scope, taskId), sk: `${turnSortKey(turn)}#artifacts` }
}

/** Where the sort keys of the artifacts that have items of their own begin. */
export function artifactPrefix(turn: number): string {
  return `${turnSortKey(turn)}#a#`
}

export function artifactKey(scope: Scope, taskId: string, artifact: { turn: number; name: string }): Key {
  return { pk: turnPartition(scope, taskId), sk: artifactPrefix(artifact.turn) + artifact.name }
}

/** The kind and the turn of an item of a task's turns; `name`: of an artifact that has an item of its own. */
export function readTurnSortKey(
  sortKey: string,
): { kind: 'turn' | 'index'; turn: number } | { kind: 'artifact'; turn: number; name: string } {
  const [digits = '', part, name] = sortKey.split('#')
  const turn = Number(digits)
  if (name !== undefined) return { kind: 'artifact', turn, name }
  return { kind: part === undefined ? 'turn' : 'index', turn }
}

/** A deleted task, which is named by its generation: a task of the same id may be there again. */
export function deadTaskKey(scope: Scope, taskId: string, generation: string): Key {
  return { pk: deadTaskPartition(scope), sk: deadTaskPrefix(taskId) + generation }
}

/** Where the sort keys of all that is left of a task's generations begin. */
export function deadTaskPrefix(taskId: string): string {
  return `${taskId}#`
}

/** The partition of the records of which bundles a workspace has. */
export function bundlePartition(scope: Scope): string {
  return `V#${scope.tenant}#${scope.project}`
}

export function bundleKey(scope: Scope, workspaceHash: string): Key {
  return { pk: bundlePartition(scope), sk: workspaceHash }
}
