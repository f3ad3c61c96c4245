import { hashText } from '../text.ts'
import { encodeCheckpoint } from './codec.ts'
import { commit } from './commit.ts'
import type { StoreContext } from './context.ts'
import {
  SandboxCheckpointConflictError,
  SandboxCheckpointDuplicateIdError,
  SandboxCheckpointParentMismatchError,
} from './errors.ts'
import type { SandboxCheckpointAppendInput } from './types.ts'
import { checkAppend, copyCheckpoint } from './validate.ts'
import { checkWriterOf } from './writer.ts'

/** Adds a checkpoint and makes it the head. @throws the contract's errors, in its order */
export async function append(context: StoreContext, input: SandboxCheckpointAppendInput): Promise<{ headId: string }> {
  const { expectedHeadId, writer, requestToken } = input
  const checkpoint = copyCheckpoint(input.checkpoint)
  checkAppend({ checkpoint, expectedHeadId, writer })
  const { id, threadId, parentCheckpointId } = checkpoint
  checkWriterOf(threadId, writer)
  const encoded = encodeCheckpoint(checkpoint)
  const expectedHash = expectedHeadId === null ? undefined : hashText(expectedHeadId)
  const parentMatches = (parentCheckpointId ?? null) === expectedHeadId
  await commit(context, {
    id,
    threadId,
    encoded,
    writer: { ...writer },
    lease: writer,
    token: requestToken,
    idUsed: () => new SandboxCheckpointDuplicateIdError('The checkpoint id is used already.'),
    checkHead: ({ head }) => {
      if (head?.idHash !== expectedHash) return new SandboxCheckpointConflictError('The head is not expectedHeadId.')
      if (parentMatches) return undefined
      return new SandboxCheckpointParentMismatchError('parentCheckpointId is not expectedHeadId.')
    },
  })
  return { headId: id }
}
