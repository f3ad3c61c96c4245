import { renewCondemned } from '../blobs/renew.ts'
import { checkpointKey, threadKey } from '../table/keys.ts'
import { retryTransient } from '../table/transient.ts'
import { hashText } from '../text.ts'
import { encodeCheckpoint } from './codec.ts'
import { commit } from './commit.ts'
import type { StoreContext } from './context.ts'
import { SandboxCheckpointError } from './errors.ts'
import type { CheckpointRecord } from './items.ts'
import { findCheckpoint, getThread, loadCheckpoint } from './read.ts'
import type { SandboxCheckpoint, SandboxCheckpointForkInput } from './types.ts'
import { checkFork } from './validate.ts'
import { checkWriter, checkWriterOf } from './writer.ts'

/**
 * Begins the destination thread with a copy of a checkpoint of another thread, head or not. The source is untouched.
 * @throws the contract's errors, in its order
 */
export async function forkFromCheckpoint(
  context: StoreContext,
  input: SandboxCheckpointForkInput,
): Promise<{ checkpoint: SandboxCheckpoint }> {
  checkFork(input)
  const { sourceThreadId, sourceCheckpointId, destinationThreadId, destinationCheckpointId, createdAt } = input
  const writer = { ...input.writer }
  if (sourceThreadId === destinationThreadId) throw threadMismatch('The destination is the source thread itself.')
  const { record, source } = await readSource(context, sourceCheckpointId)
  if (source.threadId !== sourceThreadId) throw threadMismatch('The source checkpoint is of another thread.')
  checkWriterOf(destinationThreadId, writer)
  const destination = await retryTransient(() => getThread(context, hashText(destinationThreadId)))
  checkWriter(destination, writer, context.now())
  if (!(await renewCondemned(context, blobKeysOf(source)))) throw sourceNotFound()
  const checkpoint: SandboxCheckpoint = {
    id: destinationCheckpointId,
    threadId: destinationThreadId,
    parentCheckpointId: null,
    createdAt,
    reason: 'fork-root',
    files: source.files,
    conversation: source.conversation,
    artifacts: source.artifacts,
  }
  await commit(context, {
    id: destinationCheckpointId,
    threadId: destinationThreadId,
    encoded: encodeCheckpoint(checkpoint),
    writer,
    lease: input.writer,
    token: input.requestToken,
    idUsed: destinationNotEmpty,
    checkHead: ({ head }) => (head ? destinationNotEmpty() : undefined),
    guards: { actions: () => sourceGuards(context, record), refused: sourceNotFound },
  })
  return { checkpoint }
}

function blobKeysOf({ files, artifacts }: SandboxCheckpoint): string[] {
  return [...files, ...artifacts].flatMap((entry) => ('blobKey' in entry ? entry.blobKey : []))
}

function readSource(context: StoreContext, id: string) {
  return retryTransient(async () => {
    const record = await findCheckpoint(context, hashText(id))
    if (!record) throw sourceNotFound()
    return { record, source: await loadCheckpoint(context, record) }
  })
}

/** The source is still there when the fork is: not deleted, not pruned. */
function sourceGuards({ table, scope }: StoreContext, { threadHash, sequence }: CheckpointRecord) {
  return [
    table.transactCheck(checkpointKey(scope, threadHash, sequence), {
      condition: 'attribute_exists(pk)',
      names: {},
      values: {},
    }),
    table.transactCheck(threadKey(scope, threadHash), {
      condition: '#mark <= :sequence',
      names: { '#mark': 'mark' },
      values: { ':sequence': sequence },
    }),
  ]
}

function sourceNotFound(): SandboxCheckpointError {
  return new SandboxCheckpointError('SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND', 'There is no such source checkpoint.')
}

function threadMismatch(message: string): SandboxCheckpointError {
  return new SandboxCheckpointError('SANDBOX_SNAPSHOT_FORK_SOURCE_THREAD_MISMATCH', message)
}

function destinationNotEmpty(): SandboxCheckpointError {
  return new SandboxCheckpointError(
    'SANDBOX_SNAPSHOT_FORK_DESTINATION_NOT_EMPTY',
    'The destination thread has a checkpoint, or the destination checkpoint id is used.',
  )
}
