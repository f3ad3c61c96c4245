import type { S3Client } from '@aws-sdk/client-s3'
import { createServiceHandler } from '../../../lambdas/checkpoints/handler.ts'
import { BASE } from '../../../lambdas/checkpoints/routes.ts'
import type { ApiHandler } from '../../../lambdas/shared/api.ts'
import type { CheckpointStore } from '../../../src/checkpoints/store.ts'
import type { Scope } from '../../../src/tenancy/scope.ts'
import { createMemoryCheckpointStore } from '../../../testkit/memory-checkpoint-store.ts'

/** A request that needs nothing but the headers. */
export const head = { path: `${BASE}/head`, body: { thread_id: 't' } }

/** The checkpoints service over memory, which tells for which scopes its store was made. */
export function recordingHandler(getHead?: () => Promise<string | null>): { handler: ApiHandler; scopes: Scope[] } {
  const store = createMemoryCheckpointStore()
  const scopes: Scope[] = []
  const handler = createServiceHandler(
    { s3: {} as S3Client, bucketName: 'bucket' },
    {
      checkpoints: ({ scope }) => {
        scopes.push(scope)
        return {
          getHead: getHead ?? ((threadId: string) => store.getHead(threadId)),
          get: (id: string) => store.get(id),
        } as unknown as CheckpointStore
      },
      blobs: () => {
        throw new Error('No test of this handler asks for blobs.')
      },
      sweeps: () => {
        throw new Error('No test of this handler asks for sweeps.')
      },
    },
  )
  return { handler, scopes }
}
