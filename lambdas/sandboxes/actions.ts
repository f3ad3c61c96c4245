import type { SandboxSnapshotArtifact, SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { InvalidInputError, NotFoundError } from '../../src/errors.ts'
import { roleIncludes } from '../../src/keys/store.ts'
import type { CreateSandboxInput, SandboxStore } from '../../src/sandboxes/types.ts'
import { ownerText } from '../shared/access.ts'
import { type Action, action } from '../shared/action.ts'
import { json, noContent } from '../shared/answer.ts'
import type { Call } from '../shared/request.ts'
import { shownSandbox, shownSnapshot } from './answers.ts'
import type { SandboxAction } from './routes.ts'
import * as schemas from './schemas.ts'

/** The sandboxes of a request's scope. */
export type Sandboxes = (call: Call) => SandboxStore

const snapshotSeqPattern = /^[1-9]\d{0,14}$/

/** The members of the sandbox store, as actions. */
export function sandboxActions(
  sandboxes: Sandboxes,
): Record<Exclude<SandboxAction, 'snapshotDownloads' | 'stageUpload'>, Action> {
  return {
    create: action(schemas.create, async (input, call) => {
      const { sandbox, reused } = await sandboxes(call).create({
        profile: input.profile,
        taskId: input.task_id,
        labels: input.labels,
        ...(input.source && { source: toSource(input.source) }),
        reuse: input.reuse,
        restoreLatest: input.restore_latest,
        ttlSeconds: input.ttl_seconds,
        provider: input.provider,
        providerSandboxId: input.provider_sandbox_id,
        by: ownerText(call.principal),
      })
      return reused ? json(200, { ...shownSandbox(sandbox), reused }) : json(201, shownSandbox(sandbox))
    }),
    list: action(schemas.list, async ({ task_id, status, limit, page }, call) => {
      const { sandboxes: listed, next } = await sandboxes(call).list({ taskId: task_id, status, limit, after: page })
      return json(200, { sandboxes: listed.map(shownSandbox), next_page: next })
    }),
    get: action(schemas.nothing, async (_input, call) => {
      const sandbox = await sandboxes(call).get(sandboxOf(call))
      if (!sandbox) throw new NotFoundError('There is no such sandbox.')
      return json(200, shownSandbox(sandbox))
    }),
    destroy: action(schemas.nothing, async (_input, call) => {
      const { principal } = call
      const isAdmin = roleIncludes(principal.role, 'project_admin')
      await sandboxes(call).destroy(sandboxOf(call), ({ createdBy }) => isAdmin || createdBy === ownerText(principal))
      return noContent()
    }),
    stop: action(schemas.nothing, async (_input, call) => {
      return json(200, shownSandbox(await sandboxes(call).stop(sandboxOf(call))))
    }),
    start: action(schemas.nothing, async (_input, call) => {
      return json(200, shownSandbox(await sandboxes(call).start(sandboxOf(call))))
    }),
    renew: action(schemas.renew, async ({ ttl_seconds }, call) => {
      return json(200, shownSandbox(await sandboxes(call).renew(sandboxOf(call), ttl_seconds)))
    }),
    saveSnapshot: action(schemas.saveSnapshot, async (input, call) => {
      const saved = await sandboxes(call).saveSnapshot(sandboxOf(call), {
        reason: input.reason,
        files: input.files as SandboxSnapshotEntry[],
        artifacts: input.artifacts as SandboxSnapshotArtifact[] | undefined,
        conversation: input.conversation as unknown[] | undefined,
        label: input.label,
        ifLatest: input.if_latest && {
          sandboxId: input.if_latest.sandbox_id,
          snapshotSeq: input.if_latest.snapshot_seq,
        },
        requestToken: input.request_token,
      })
      return json(201, shownSnapshot(saved))
    }),
    listSnapshots: action(schemas.listSnapshots, async ({ limit, page }, call) => {
      const { snapshots, next } = await sandboxes(call).listSnapshots(sandboxOf(call), { limit, after: page })
      return json(200, { snapshots: snapshots.map(shownSnapshot), next_page: next })
    }),
    getSnapshot: action(schemas.nothing, async (_input, call) => {
      const snapshot = await sandboxes(call).getSnapshot(sandboxOf(call), snapshotSeqOf(call))
      if (!snapshot) throw new NotFoundError('There is no such snapshot.')
      const { files, artifacts, conversation } = snapshot
      return json(200, { ...shownSnapshot(snapshot), files, artifacts, conversation })
    }),
  }
}

function toSource(source: {
  type: 'workspace_latest' | 'snapshot'
  workspace_key?: string | undefined
  sandbox_id?: string | undefined
  snapshot_seq?: number | undefined
}): NonNullable<CreateSandboxInput['source']> {
  const { type, workspace_key, sandbox_id, snapshot_seq } = source
  return {
    type,
    ...(workspace_key !== undefined && { workspaceKey: workspace_key }),
    ...(sandbox_id !== undefined && { sandboxId: sandbox_id }),
    ...(snapshot_seq !== undefined && { snapshotSeq: snapshot_seq }),
  }
}

/** Whatever is no id of a sandbox is an unknown one. */
export function sandboxOf({ params }: Call): string {
  return params.sandbox_id ?? ''
}

/** @throws InvalidInputError */
export function snapshotSeqOf({ params }: Call): number {
  const text = params.snapshot_seq ?? ''
  if (snapshotSeqPattern.test(text)) return Number(text)
  throw new InvalidInputError('snapshot_seq', 'snapshot_seq must be a whole number from 1, without leading zeros.')
}
