import { randomUUID } from 'node:crypto'
import { compareCheckpoints } from '../src/checkpoints/order.ts'
import type {
  SandboxBlobReference,
  SandboxCheckpoint,
  SandboxCheckpointAppendInput,
  SandboxCheckpointDeleteHeadInput,
  SandboxCheckpointDeleteInput,
  SandboxCheckpointForkInput,
  SandboxCheckpointStore,
  SandboxCheckpointWriterLease,
} from '../src/checkpoints/types.ts'
import { checkAppend, checkFork } from '../src/checkpoints/validate.ts'
import { SandkeepHttpError } from './errors.ts'
import { createLease, type LeaseJson } from './lease.ts'
import type { Transport } from './transport.ts'
import { wireScalar, wireWriter } from './wire.ts'

/** How often a list is begun again because the thread changed meanwhile. */
const LIST_RESTARTS = 5

/** The checkpoint store over the API. */
export class ClientCheckpointStore implements SandboxCheckpointStore {
  readonly #transport: Transport
  readonly #base: string

  constructor(transport: Transport, base: string) {
    this.#transport = transport
    this.#base = base
  }

  async get(id: string): Promise<SandboxCheckpoint | null> {
    const body = { id: wireScalar(id) }
    const { checkpoint } = await this.#call<{ checkpoint: SandboxCheckpoint | null }>('/get', body, 'checkpoint')
    return checkpoint
  }

  async list(threadId: string): Promise<SandboxCheckpoint[]> {
    for (let restarts = 0; ; restarts++) {
      try {
        return (await this.#listPages(threadId)).sort(compareCheckpoints)
      } catch (error) {
        const expired = error instanceof SandkeepHttpError && error.code === 'page_expired'
        if (!expired || restarts === LIST_RESTARTS) throw error
      }
    }
  }

  async getHead(threadId: string): Promise<string | null> {
    const body = { thread_id: wireScalar(threadId) }
    const { head_id } = await this.#call<{ head_id: string | null }>('/head', body, 'head_id')
    return head_id
  }

  async append(input: SandboxCheckpointAppendInput): Promise<{ headId: string }> {
    // Here, and not only at the API: JSON would drop what must be refused.
    checkAppend(input)
    const body = {
      checkpoint: input.checkpoint,
      expected_head_id: input.expectedHeadId,
      writer: wireWriter(input.writer),
      request_token: input.requestToken ?? randomUUID(),
    }
    const { head_id } = await this.#call<{ head_id: string }>('/append', body, 'head_id')
    return { headId: head_id }
  }

  async deleteHead(input: SandboxCheckpointDeleteHeadInput): Promise<void> {
    await this.#transport.run(
      `${this.#base}/delete-head`,
      {
        thread_id: wireScalar(input.threadId),
        checkpoint_id: wireScalar(input.checkpointId),
        writer: wireWriter(input.writer),
        request_token: input.requestToken ?? randomUUID(),
      },
      { uploads: `${this.#base}/uploads` },
    )
  }

  async acquireWriter(threadId: string, options: { ownerToken?: string } = {}): Promise<SandboxCheckpointWriterLease> {
    // The token is made here so that a repeat after a lost answer meets its own lease.
    const body = { thread_id: wireScalar(threadId), owner_token: options.ownerToken ?? randomUUID() }
    const taken = await this.#call<LeaseJson>('/writers/acquire', body, 'owner_token')
    return createLease(this.#transport, this.#base, taken)
  }

  async listBlobReferences(): Promise<SandboxBlobReference[]> {
    const { references } = await this.#call<{ references: SandboxBlobReference[] }>('/references', {}, 'references')
    return references
  }

  async forkFromCheckpoint(input: SandboxCheckpointForkInput): Promise<{ checkpoint: SandboxCheckpoint }> {
    checkFork(input)
    const body = {
      source_thread_id: input.sourceThreadId,
      source_checkpoint_id: input.sourceCheckpointId,
      destination_thread_id: input.destinationThreadId,
      destination_checkpoint_id: input.destinationCheckpointId,
      created_at: input.createdAt,
      writer: wireWriter(input.writer),
      request_token: input.requestToken ?? randomUUID(),
    }
    const { checkpoint } = await this.#call<{ checkpoint: SandboxCheckpoint }>('/fork', body, 'checkpoint')
    return { checkpoint }
  }

  async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
    const body = {
      thread_id: wireScalar(input.threadId),
      keep: wireScalar(input.keep),
      writer: wireWriter(input.writer),
    }
    // A repeat of a prune that was carried out would answer that nothing was deleted.
    const { deleted } = await this.#call<{ deleted: string[] }>('/prune', body, 'deleted', false)
    return { deleted }
  }

  #call<Answer extends object>(
    route: string,
    body: object,
    expected: keyof Answer & string,
    repeatable = true,
  ): Promise<Answer> {
    return this.#transport.call<Answer>(this.#base + route, body, expected, {
      repeatable,
      uploads: `${this.#base}/uploads`,
    })
  }

  async #listPages(threadId: string): Promise<SandboxCheckpoint[]> {
    const checkpoints: SandboxCheckpoint[] = []
    let page: string | null = null
    do {
      const body = { thread_id: wireScalar(threadId), ...(page !== null && { page }) }
      const answer: { checkpoints: SandboxCheckpoint[]; next_page: string | null } = await this.#call(
        '/list',
        body,
        'checkpoints',
      )
      checkpoints.push(...answer.checkpoints)
      page = answer.next_page
    } while (page !== null)
    return checkpoints
  }
}
