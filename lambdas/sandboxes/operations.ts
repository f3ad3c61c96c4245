import * as z from 'zod'
import type { ErrorCode } from '../openapi/error-codes.ts'
import type { Operation } from '../openapi/operation.ts'
import { jsonAnswer, largeAnswer, nextPage, noContent, startedUpload } from '../openapi/schemas.ts'
import * as contract from '../shared/contract-schemas.ts'
import { stageUpload } from '../shared/stage-action.ts'
import { reusedSandbox, sandbox, snapshot, snapshotDownloads, snapshotManifest } from './answer-schemas.ts'
import type { SandboxAction } from './routes.ts'
import * as schemas from './schemas.ts'

const params = z.object({ sandbox_id: z.string().describe('Of the sandbox.') })
const snapshotParams = params.extend({
  snapshot_seq: z
    .string()
    .regex(/^[1-9]\d{0,14}$/)
    .describe('Of the snapshot, from 1.'),
})
const labels = z
  .record(z.string().min(1).max(schemas.MAX_LABEL_NAME), z.string().max(schemas.MAX_LABEL_VALUE))
  .describe(`At most ${schemas.MAX_LABELS}, and ${schemas.MAX_LABEL_BYTES} bytes of JSON.`)
const ended: ErrorCode[] = ['not_found', 'sandbox_expired', 'sandbox_destroyed']
const noBody = { body: { 'application/json': schemas.nothing }, bodyOptional: true } as const

/** What the sandboxes service takes and answers. */
export const OPERATIONS: Record<SandboxAction, Operation> = {
  create: {
    id: 'createSandbox',
    summary: 'Create a sandbox, or take one that is there',
    body: { 'application/json': schemas.create.extend({ labels: labels.optional() }) },
    answers: {
      200: jsonAnswer('One that was there, by `reuse`.', reusedSandbox),
      201: jsonAnswer('A new one.', sandbox),
    },
    errors: ['not_found'],
  },
  list: {
    id: 'listSandboxes',
    summary: 'List sandboxes',
    description: 'Where few of many fit, a page may have few or none, and a `next_page` all the same.',
    query: schemas.list,
    answers: {
      200: jsonAnswer('The newest first.', z.strictObject({ sandboxes: z.array(sandbox), next_page: nextPage })),
      303: largeAnswer,
    },
  },
  get: {
    id: 'getSandbox',
    summary: 'Get a sandbox',
    params,
    answers: { 200: jsonAnswer('The sandbox.', sandbox) },
    errors: ['not_found'],
  },
  destroy: {
    id: 'destroySandbox',
    summary: 'Destroy a sandbox',
    description: 'That of another takes the role `project_admin`. Destroying what is destroyed succeeds.',
    params,
    ...noBody,
    answers: { 204: noContent },
    errors: ['not_found'],
  },
  stop: {
    id: 'stopSandbox',
    summary: 'Note that a sandbox has stopped',
    params,
    ...noBody,
    answers: { 200: jsonAnswer('The sandbox.', sandbox) },
    errors: ended,
  },
  start: {
    id: 'startSandbox',
    summary: 'Note that a sandbox runs',
    params,
    ...noBody,
    answers: { 200: jsonAnswer('The sandbox.', sandbox) },
    errors: ended,
  },
  renew: {
    id: 'renewSandbox',
    summary: 'Have a sandbox expire later, or never',
    params,
    body: { 'application/json': schemas.renew },
    bodyOptional: true,
    answers: { 200: jsonAnswer('The sandbox.', sandbox) },
    errors: ended,
  },
  saveSnapshot: {
    id: 'saveSnapshot',
    summary: 'Save a snapshot of a workspace',
    description: 'Its blobs are uploaded before. A repeat with the same `request_token` is answered as the first was.',
    params,
    body: {
      'application/json': schemas.saveSnapshot.extend({
        files: contract.files,
        artifacts: contract.artifacts.optional(),
        conversation: contract.conversation.optional(),
      }),
    },
    answers: { 201: jsonAnswer('The snapshot.', snapshot) },
    errors: [...ended, 'SANDBOX_SNAPSHOT_INVALID_ENTRY', 'blob_missing'],
  },
  listSnapshots: {
    id: 'listSnapshots',
    summary: 'List the snapshots of a sandbox',
    params,
    query: schemas.listSnapshots,
    answers: {
      200: jsonAnswer('In the order of saving.', z.strictObject({ snapshots: z.array(snapshot), next_page: nextPage })),
      303: largeAnswer,
    },
    errors: ['not_found'],
  },
  getSnapshot: {
    id: 'getSnapshot',
    summary: 'Get a snapshot with what the workspace held',
    params: snapshotParams,
    answers: { 200: jsonAnswer('The snapshot.', snapshotManifest), 303: largeAnswer },
    errors: ['not_found'],
  },
  snapshotDownloads: {
    id: 'prepareSnapshotDownloads',
    summary: 'Find out how to download the blobs of a snapshot',
    description: 'All with few requests, or those in `keys`. Check each by its hash.',
    params: snapshotParams,
    body: { 'application/json': schemas.snapshotDownloads },
    bodyOptional: true,
    answers: { 200: jsonAnswer('The requests.', snapshotDownloads), 303: largeAnswer },
    errors: ['not_found'],
  },
  stageUpload: {
    id: 'announceSnapshotBody',
    summary: 'Announce a body that is too large for a request',
    description: 'Upload the JSON, then send `{"upload_id": "…"}` in its place.',
    body: { 'application/json': stageUpload },
    answers: { 201: jsonAnswer('Where to upload it.', startedUpload) },
  },
}
