import type { SandboxCheckpointWriterLease } from '../src/checkpoints/types.ts'
import type { Transport } from './transport.ts'
import { wireWriter } from './wire.ts'

export interface LeaseJson {
  thread_id: string
  owner_token: string
  fence: number
  expires_at: number
  renew_after_ms: number
  head_id: string | null
}

/** Makes a lease of the API's answer; it renews and releases over the API. */
export function createLease(transport: Transport, base: string, taken: LeaseJson): SandboxCheckpointWriterLease {
  const writer = { threadId: taken.thread_id, ownerToken: taken.owner_token, fence: taken.fence }
  let expiresAt = taken.expires_at
  return {
    ...writer,
    headId: taken.head_id,
    renewAfterMs: taken.renew_after_ms,
    get expiresAt() {
      return expiresAt
    },
    async renew() {
      const answer = await transport.call<{ expires_at: number }>(
        `${base}/writers/renew`,
        { writer: wireWriter(writer) },
        'expires_at',
      )
      expiresAt = answer.expires_at
      return { expiresAt }
    },
    release: () => transport.run(`${base}/writers/release`, { writer: wireWriter(writer) }),
  }
}
