import type { SandboxCheckpoint, SandboxCheckpointWriter } from '../../src/checkpoints/types.ts'
import { type Action, action } from '../shared/action.ts'
import { json, noContent } from '../shared/answer.ts'
import type { CheckpointAction } from './routes.ts'
import * as schemas from './schemas.ts'
import type { Services } from './service.ts'

/** About how much JSON a page of a list has: well below the inline limit, so that pages need no detour. */
const PAGE_BYTES = 3_145_728

type ContractAction = Exclude<
  CheckpointAction,
  `blob${string}` | `sweep${string}` | `${string}Writer` | 'stageUpload' | 'usage'
>

/** The members of the checkpoint store, as actions. */
export function checkpointActions({ checkpoints }: Services): Record<ContractAction, Action> {
  return {
    get: action(schemas.get, async ({ id }, call) => {
      return json(200, { checkpoint: await checkpoints(call).get(id as string) })
    }),
    list: action(schemas.list, async ({ thread_id, page }, call) => {
      const listed = await checkpoints(call).listPage({
        threadId: thread_id as string,
        after: page ?? null,
        maxBytes: PAGE_BYTES,
      })
      return json(200, { checkpoints: listed.checkpoints, next_page: listed.next })
    }),
    head: action(schemas.head, async ({ thread_id }, call) => {
      return json(200, { head_id: await checkpoints(call).getHead(thread_id as string) })
    }),
    append: action(schemas.append, async (input, call) => {
      const { headId } = await checkpoints(call).append({
        checkpoint: input.checkpoint as SandboxCheckpoint,
        expectedHeadId: input.expected_head_id as string | null,
        writer: toWriter(input.writer),
        ...withToken(input.request_token),
      })
      return json(200, { head_id: headId })
    }),
    deleteHead: action(schemas.deleteHead, async (input, call) => {
      await checkpoints(call).deleteHead({
        threadId: input.thread_id as string,
        checkpointId: input.checkpoint_id as string,
        writer: toWriter(input.writer),
        ...withToken(input.request_token),
      })
      return noContent()
    }),
    fork: action(schemas.fork, async (input, call) => {
      const { checkpoint } = await checkpoints(call).forkFromCheckpoint({
        sourceThreadId: input.source_thread_id as string,
        sourceCheckpointId: input.source_checkpoint_id as string,
        destinationThreadId: input.destination_thread_id as string,
        destinationCheckpointId: input.destination_checkpoint_id as string,
        createdAt: input.created_at as number,
        writer: toWriter(input.writer),
        ...withToken(input.request_token),
      })
      return json(200, { checkpoint })
    }),
    prune: action(schemas.prune, async (input, call) => {
      const { deleted } = await checkpoints(call).deleteCheckpoints({
        threadId: input.thread_id as string,
        keep: input.keep as number,
        writer: toWriter(input.writer),
      })
      return json(200, { deleted })
    }),
    references: action(schemas.references, async (_input, call) => {
      return json(200, { references: await checkpoints(call).listBlobReferences() })
    }),
  }
}

/** The writer as it was sent; the store judges it. */
export function toWriter(sent: {
  thread_id?: unknown
  owner_token?: unknown
  fence?: unknown
}): SandboxCheckpointWriter {
  return { threadId: sent.thread_id, ownerToken: sent.owner_token, fence: sent.fence } as SandboxCheckpointWriter
}

function withToken(requestToken: string | undefined): { requestToken?: string } {
  return requestToken === undefined ? {} : { requestToken }
}
