import { type Action, action } from '../shared/action.ts'
import { json, noContent } from '../shared/answer.ts'
import { toWriter } from './checkpoint-actions.ts'
import type { CheckpointAction } from './routes.ts'
import * as schemas from './schemas.ts'
import type { Services } from './service.ts'

/** Leases of threads. */
export function writerActions({ checkpoints }: Services): Record<Extract<CheckpointAction, `${string}Writer`>, Action> {
  return {
    acquireWriter: action(schemas.acquireWriter, async ({ thread_id, owner_token }, call) => {
      const lease = await checkpoints(call).acquireWriter(
        thread_id as string,
        owner_token === undefined ? {} : { ownerToken: owner_token },
      )
      return json(200, {
        thread_id: lease.threadId,
        owner_token: lease.ownerToken,
        fence: lease.fence,
        expires_at: lease.expiresAt,
        renew_after_ms: lease.renewAfterMs,
        head_id: lease.headId,
      })
    }),
    renewWriter: action(schemas.heldWriter, async ({ writer }, call) => {
      const { expiresAt } = await checkpoints(call).renewWriter(toWriter(writer))
      return json(200, { expires_at: expiresAt })
    }),
    releaseWriter: action(schemas.heldWriter, async ({ writer }, call) => {
      await checkpoints(call).releaseWriter(toWriter(writer))
      return noContent()
    }),
  }
}
