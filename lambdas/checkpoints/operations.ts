import * as z from 'zod'
import type { ErrorCode } from '../openapi/error-codes.ts'
import type { Operation } from '../openapi/operation.ts'
import { jsonAnswer, largeAnswer, nextPage, noContent, startedUpload } from '../openapi/schemas.ts'
import * as contract from '../shared/contract-schemas.ts'
import { stageUpload } from '../shared/stage-action.ts'
import * as answers from './answer-schemas.ts'
import { blobOperations } from './blob-operations.ts'
import type { CheckpointAction } from './routes.ts'
import * as schemas from './schemas.ts'
import { sweepOperations } from './sweep-operations.ts'

const json = (schema: z.ZodType) => ({ 'application/json': schema })
const { contractId: id, writer } = contract
const lost: ErrorCode[] = ['SANDBOX_SNAPSHOT_INVALID_ID', 'SANDBOX_SNAPSHOT_WRITER_LOST']

/** What the checkpoints service takes and answers. */
export const OPERATIONS: Record<CheckpointAction, Operation> = {
  get: {
    id: 'getCheckpoint',
    summary: 'Get a checkpoint',
    body: json(schemas.get.extend({ id })),
    answers: { 200: jsonAnswer('The checkpoint, or null.', answers.foundCheckpoint), 303: largeAnswer },
    errors: ['SANDBOX_SNAPSHOT_INVALID_ID'],
  },
  list: {
    id: 'listCheckpoints',
    summary: 'List the checkpoints of a thread',
    description: 'In the order of their append. All pages show the thread as it was when the first was read.',
    body: json(schemas.list.extend({ thread_id: id, page: z.string().optional().describe('The `next_page`.') })),
    answers: {
      200: jsonAnswer('A page.', z.strictObject({ checkpoints: z.array(contract.checkpoint), next_page: nextPage })),
      303: largeAnswer,
    },
    errors: ['SANDBOX_SNAPSHOT_INVALID_ID', 'page_expired'],
  },
  head: {
    id: 'getHead',
    summary: "Get the id of a thread's head",
    body: json(schemas.head.extend({ thread_id: id })),
    answers: { 200: jsonAnswer('The id, or null.', z.strictObject({ head_id: id.nullable() })) },
    errors: ['SANDBOX_SNAPSHOT_INVALID_ID'],
  },
  append: {
    id: 'appendCheckpoint',
    summary: 'Append a checkpoint to a thread',
    description: 'A repeat with the same `request_token` is answered as the first was.',
    body: json(schemas.append.extend({ checkpoint: contract.checkpoint, expected_head_id: id.nullable(), writer })),
    answers: { 200: jsonAnswer('It is the head.', z.strictObject({ head_id: id })) },
    errors: [
      ...lost,
      'SANDBOX_SNAPSHOT_INVALID_ENTRY',
      'SANDBOX_SNAPSHOT_DUPLICATE_ID',
      'SANDBOX_SNAPSHOT_STALE_HEAD',
      'SANDBOX_SNAPSHOT_PARENT_MISMATCH',
    ],
  },
  deleteHead: {
    id: 'deleteHead',
    summary: "Delete a thread's head",
    description: 'A repeat with the same `request_token` is answered as the first was.',
    body: json(schemas.deleteHead.extend({ thread_id: id, checkpoint_id: id, writer })),
    answers: { 204: noContent },
    errors: [...lost, 'SANDBOX_SNAPSHOT_NOT_HEAD'],
  },
  fork: {
    id: 'forkCheckpoint',
    summary: 'Begin a thread from a checkpoint of another',
    description: 'A repeat with the same `request_token` is answered as the first was.',
    body: json(
      schemas.fork.extend({
        source_thread_id: id,
        source_checkpoint_id: id,
        destination_thread_id: id,
        destination_checkpoint_id: id,
        created_at: z.number(),
        writer,
      }),
    ),
    answers: {
      200: jsonAnswer('The root of the new thread.', z.strictObject({ checkpoint: contract.checkpoint })),
      303: largeAnswer,
    },
    errors: [
      ...lost,
      'SANDBOX_SNAPSHOT_INVALID_ENTRY',
      'SANDBOX_SNAPSHOT_DUPLICATE_ID',
      'SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND',
      'SANDBOX_SNAPSHOT_FORK_SOURCE_THREAD_MISMATCH',
      'SANDBOX_SNAPSHOT_FORK_DESTINATION_NOT_EMPTY',
    ],
  },
  prune: {
    id: 'pruneThread',
    summary: 'Delete the oldest checkpoints of a thread',
    body: json(schemas.prune.extend({ thread_id: id, keep: z.int().min(1).describe('How many stay.'), writer })),
    answers: {
      200: jsonAnswer('The ids, oldest first.', z.strictObject({ deleted: z.array(id) })),
      303: largeAnswer,
    },
    errors: [...lost, 'SANDBOX_SNAPSHOT_INVALID_ENTRY'],
  },
  references: {
    id: 'listBlobReferences',
    summary: 'List the blobs that checkpoints use',
    body: json(schemas.references),
    answers: { 200: jsonAnswer('All, by their keys.', answers.references), 303: largeAnswer },
  },
  acquireWriter: {
    id: 'acquireWriter',
    summary: 'Take the lease of a thread',
    description: 'A repeat with the same `owner_token` meets its own lease.',
    body: json(schemas.acquireWriter.extend({ thread_id: id })),
    answers: { 200: jsonAnswer('The lease.', answers.lease) },
    errors: ['SANDBOX_SNAPSHOT_INVALID_ID', 'SANDBOX_SNAPSHOT_WRITER_CONFLICT'],
  },
  renewWriter: {
    id: 'renewWriter',
    summary: 'Renew a lease',
    body: json(schemas.heldWriter.extend({ writer })),
    answers: { 200: jsonAnswer('When it ends.', z.strictObject({ expires_at: answers.milliseconds })) },
    errors: lost,
  },
  releaseWriter: {
    id: 'releaseWriter',
    summary: 'Give a lease back',
    description: 'One that was lost or given back already is no error.',
    body: json(schemas.heldWriter.extend({ writer })),
    answers: { 204: noContent },
    errors: ['SANDBOX_SNAPSHOT_INVALID_ID'],
  },
  stageUpload: {
    id: 'announceCheckpointBody',
    summary: 'Announce a body that is too large for a request',
    description: 'Upload the JSON, then send `{"upload_id": "…"}` in its place.',
    body: json(stageUpload),
    answers: { 201: jsonAnswer('Where to upload it.', startedUpload) },
  },
  ...blobOperations,
  ...sweepOperations,
}
