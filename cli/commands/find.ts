import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import type { Client } from '../context.ts'
import { MissingError, UsageError } from '../errors.ts'
import { printable } from '../format.ts'

/** @throws MissingError when there is no such checkpoint, or it is not one of the thread asked for; UsageError. */
export async function findCheckpoint(client: Client, id: string, threadId?: string): Promise<SandboxCheckpoint> {
  if (id === '') throw new UsageError('The id of the checkpoint is empty.')
  const checkpoint = await client.checkpoints.get(id)
  if (checkpoint !== null && (threadId === undefined || checkpoint.threadId === threadId)) return checkpoint
  const where = threadId === undefined ? '' : ` in the thread "${printable(threadId)}"`
  throw new MissingError(`There is no checkpoint "${printable(id)}"${where}. \`sandkeep log\` lists those of a thread.`)
}

/** @throws MissingError when the thread has no checkpoint. */
export async function headCheckpoint(client: Client, threadId: string): Promise<SandboxCheckpoint> {
  const id = await client.checkpoints.getHead(threadId)
  const checkpoint = id === null ? null : await client.checkpoints.get(id)
  if (checkpoint !== null) return checkpoint
  throw new MissingError(
    `The thread "${printable(threadId)}" has no checkpoint. Name another one with --thread, or push first.`,
  )
}
