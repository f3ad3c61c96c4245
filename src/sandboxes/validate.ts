import { InvalidInputError } from '../errors.ts'
import { hashText } from '../text.ts'
import type { CreateSandboxInput, SourceInput } from './types.ts'

const workspaceKeyPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
export const WORKSPACE_KEY_RULE = 'must be 1 to 128 characters of A-Z a-z 0-9 . _ -, the first a letter or a digit'

/** The labels that make a sandbox belong to a task, in their order. */
const KEY_LABELS = ['task_id', 'ctp_task_id', 'workspace_key'] as const

export function isWorkspaceKey(text: string): boolean {
  return workspaceKeyPattern.test(text)
}

/**
 * The workspace key of a sandbox: the first that is not empty of its task id and some labels.
 * @throws InvalidInputError naming where it stands, when it has not the form of a task id.
 */
export function workspaceKeyOf({ taskId, labels = {} }: CreateSandboxInput): string | undefined {
  const candidates: [string, string | undefined][] = [
    ['task_id', taskId],
    ...KEY_LABELS.map((name): [string, string | undefined] => [
      `labels.${name}`,
      Object.hasOwn(labels, name) ? labels[name] : undefined,
    ]),
  ]
  const [field, key] = candidates.find(([, value]) => value !== undefined && value !== '') ?? []
  if (field === undefined || key === undefined) return undefined
  if (!isWorkspaceKey(key)) throw new InvalidInputError(field, `${field} ${WORKSPACE_KEY_RULE}.`)
  return key
}

/** What of sandboxes must be the same for one to be used in place of another, as a hash. */
export function fingerprintOf({ profile, labels = {}, provider }: CreateSandboxInput, key: string | undefined): string {
  const sorted = Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1))
  return hashText(JSON.stringify([profile, key ?? null, sorted, provider ?? null]))
}

/** Where a new sandbox's workspace comes from: the latest of a workspace key, or one snapshot, if it is of the key. */
export type Origin =
  | { kind: 'latest'; workspaceKey: string }
  | { kind: 'exact'; sandboxId: string; snapshotSeq: number; workspaceKey: string | undefined }

/** @throws InvalidInputError naming the field of the source that is wrong or missing. */
export function originOf(source: SourceInput, key: string | undefined): Origin {
  const { type, workspaceKey, sandboxId, snapshotSeq } = source
  if (workspaceKey !== undefined && !isWorkspaceKey(workspaceKey)) {
    throw new InvalidInputError('source.workspace_key', `source.workspace_key ${WORKSPACE_KEY_RULE}.`)
  }
  if (sandboxId !== undefined && snapshotSeq !== undefined)
    return { kind: 'exact', sandboxId, snapshotSeq, workspaceKey }
  if (sandboxId === undefined && (snapshotSeq !== undefined || type === 'snapshot')) {
    throw missing('source.sandbox_id', type === 'snapshot' ? 'with the type snapshot' : 'with source.snapshot_seq')
  }
  if (sandboxId !== undefined) throw missing('source.snapshot_seq', 'with source.sandbox_id')
  const of = workspaceKey ?? key
  if (of === undefined) {
    throw missing('source.workspace_key', 'with the type workspace_latest, for a sandbox that belongs to no task')
  }
  return { kind: 'latest', workspaceKey: of }
}

function missing(field: string, when: string): InvalidInputError {
  return new InvalidInputError(field, `${field} is required ${when}.`)
}
