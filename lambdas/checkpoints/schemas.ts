import * as z from 'zod'
import { EXCHANGE_LIMIT, MAX_BLOB_BYTES, MAX_SWEEP_WAIT_MS } from '../../src/limits.ts'
import { DEFAULT_OLDER_THAN_MS } from '../../src/sweep/run.ts'
import { blobKey, blobKeys } from '../shared/blob-key.ts'

/**
 * Fields of the contract are let through whatever they hold: the store decides which of the contract's errors they
 * make, and in which order.
 */
const contract = z.unknown().optional()

const writer = z.strictObject({ thread_id: contract, owner_token: contract, fence: contract })
const requestToken = z.string().min(1).max(128).optional()
const ownerToken = z
  .string()
  .min(1)
  .max(128)
  .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')

export const get = z.strictObject({ id: contract })
export const list = z.strictObject({ thread_id: contract, page: z.string().optional() })
export const head = z.strictObject({ thread_id: contract })
export const append = z.strictObject({
  checkpoint: contract,
  expected_head_id: contract,
  writer,
  request_token: requestToken,
})
export const deleteHead = z.strictObject({
  thread_id: contract,
  checkpoint_id: contract,
  writer,
  request_token: requestToken,
})
export const fork = z.strictObject({
  source_thread_id: contract,
  source_checkpoint_id: contract,
  destination_thread_id: contract,
  destination_checkpoint_id: contract,
  created_at: contract,
  writer,
  request_token: requestToken,
})
export const prune = z.strictObject({ thread_id: contract, keep: contract, writer })
export const references = z.strictObject({})
export const acquireWriter = z.strictObject({ thread_id: contract, owner_token: ownerToken.optional() })
export const heldWriter = z.strictObject({ writer })
export const blobUploads = z.strictObject({
  blobs: z
    .array(z.strictObject({ key: blobKey, size_bytes: z.int().min(0).max(MAX_BLOB_BYTES) }))
    .min(1)
    .max(EXCHANGE_LIMIT)
    .superRefine(refuseTwoSizes),
})
export const blobDownloads = z.strictObject({ keys: blobKeys })
export const blobHead = z.strictObject({ keys: blobKeys })
export const blobList = z.strictObject({
  prefix: z.string().regex(/^[a-z0-9/-]{0,90}$/, 'must be the beginning of a blob key: at most 90 of a-z 0-9 / -'),
})
export const blobDelete = z.strictObject({ keys: blobKeys })

export const sweepStart = z.strictObject({
  older_than_ms: z.int().min(0).default(DEFAULT_OLDER_THAN_MS),
  dry_run: z.boolean().default(false),
  wait_ms: z.int().min(0).max(MAX_SWEEP_WAIT_MS).default(0),
})
export const sweepList = z.strictObject({
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .default('20')
    .transform(Number)
    .describe('How many, from 1 to 100.'),
})
export const usage = z.strictObject({})

/** One key is one content, which has one size. */
function refuseTwoSizes(blobs: Array<{ key: string; size_bytes: number }>, context: z.RefinementCtx): void {
  const sizes = new Map<string, number>()
  for (const [index, { key, size_bytes }] of blobs.entries()) {
    if ((sizes.get(key) ?? size_bytes) !== size_bytes) {
      context.addIssue({
        code: 'custom',
        path: [index, 'size_bytes'],
        message: 'must be the same wherever a key stands',
      })
    }
    sizes.set(key, size_bytes)
  }
}
