import * as z from 'zod'
import { count, presignedFields, timestamp } from '../openapi/schemas.ts'
import { blobKey } from '../shared/blob-key.ts'
import { checkpoint, contractId } from '../shared/contract-schemas.ts'

export const milliseconds = z.number().describe('Milliseconds since the epoch.')

export const foundCheckpoint = z.strictObject({ checkpoint: checkpoint.nullable() })

export const references = z.strictObject({
  references: z.array(
    z.strictObject({ key: blobKey, references: z.int().min(1).describe('How many checkpoints use it.') }),
  ),
})

export const lease = z
  .strictObject({
    thread_id: contractId,
    owner_token: z.string(),
    fence: z.int().min(1).describe('Grows with each lease of the thread.'),
    expires_at: milliseconds,
    renew_after_ms: z.number(),
    head_id: contractId.nullable(),
  })
  .meta({ id: 'Lease' })

export const blobInfo = z
  .strictObject({ key: blobKey, size_bytes: count, uploaded_at: timestamp })
  .meta({ id: 'BlobInfo' })

export const blobUpload = z
  .strictObject({ key: blobKey, ...presignedFields, method: z.literal('PUT') })
  .meta({ id: 'BlobUpload', description: 'S3 answers 412 when the blob is there already, which is as good as 200.' })

export const blobDownload = z
  .strictObject({ key: blobKey, size_bytes: count, ...presignedFields, method: z.literal('GET') })
  .meta({ id: 'BlobDownload' })

export const sweepReport = z
  .strictObject({
    sweep_id: z.string(),
    state: z.enum(['running', 'done', 'waiting', 'failed']).describe('`waiting`: for leases to end.'),
    started_at: timestamp,
    seconds: z.number(),
    dry_run: z.boolean(),
    listed: count.describe('Versions of blobs and bodies.'),
    referenced: count,
    condemned: count,
    spared: count,
    deleted: count,
    bytes_freed: count,
    cleared: count,
    requests: count,
    cost_usd: z.number().describe('Of the requests, at public prices.'),
    failures: z
      .array(z.strictObject({ key: z.string(), reason: z.string() }))
      .describe('What S3 would not delete; the next sweep tries again.'),
  })
  .meta({ id: 'SweepReport' })

export const usage = z
  .strictObject({
    threads: count,
    checkpoints: count,
    referenced_blobs: count,
    referenced_bytes: count,
    logical_bytes: count.describe('A blob counts as often as checkpoints use it.'),
    unreferenced_blobs: count,
    unreferenced_bytes: count.describe('With old versions, which the next sweep removes.'),
  })
  .meta({ id: 'Usage' })
