import * as z from 'zod'
import { SANDBOX_STATUSES, SNAPSHOT_REASONS, SOURCE_TYPES } from '../../src/sandboxes/types.ts'
import { count, presignedFields, timestamp } from '../openapi/schemas.ts'
import { blobKey } from '../shared/blob-key.ts'
import * as contract from '../shared/contract-schemas.ts'

const snapshotName = {
  sandbox_id: z.string(),
  snapshot_seq: z.int().min(1),
}

const sandboxFields = {
  sandbox_id: z.string(),
  profile: z.string(),
  status: z.enum(SANDBOX_STATUSES),
  task_id: z.string().nullable(),
  workspace_key: z.string().nullable().describe('The task that it belongs to, by `task_id` or by a label.'),
  labels: z.record(z.string(), z.string()),
  provider: z.string().nullable(),
  provider_sandbox_id: z.string().nullable(),
  source: z
    .strictObject({
      type: z.enum(SOURCE_TYPES),
      workspace_key: z.string().nullable(),
      sandbox_id: snapshotName.sandbox_id.optional(),
      snapshot_seq: snapshotName.snapshot_seq.optional(),
    })
    .nullable()
    .describe('What it was created from. Without a snapshot: an empty workspace.'),
  restore: z.strictObject(snapshotName).nullable().describe('What to fill the workspace with on the next start.'),
  latest_snapshot_seq: snapshotName.snapshot_seq.nullable(),
  created_by: z.string().describe('The `sub` of a token, or the id of an API key.'),
  created_at: timestamp,
  updated_at: timestamp,
  expires_at: timestamp.nullable(),
}

export const sandbox = z.strictObject(sandboxFields).meta({ id: 'Sandbox' })
export const reusedSandbox = z.strictObject({ ...sandboxFields, reused: z.literal(true) }).meta({ id: 'ReusedSandbox' })

const snapshotFields = {
  ...snapshotName,
  checkpoint_id: z.string(),
  workspace_key: z.string().nullable(),
  reason: z.enum(SNAPSHOT_REASONS),
  label: z.string().nullable(),
  created_at: timestamp,
  latest: z.boolean().describe("Whether the workspace key's next sandbox starts from it."),
}

export const snapshot = z.strictObject(snapshotFields).meta({ id: 'Snapshot' })
export const snapshotManifest = z
  .strictObject({
    ...snapshotFields,
    files: contract.files,
    artifacts: contract.artifacts,
    conversation: contract.conversation,
  })
  .meta({ id: 'SnapshotManifest', description: 'A snapshot with what the workspace held.' })

const download = { ...presignedFields, method: z.literal('GET') }

export const snapshotDownloads = z
  .strictObject({
    bundles: z
      .array(
        z.strictObject({
          bundle_id: z.string(),
          size_bytes: count,
          ...download,
          entries: z.array(z.strictObject({ key: blobKey, size_bytes: count, offset: count })),
        }),
      )
      .describe('Objects of many small blobs. One that is missing or damaged is no loss: ask for its blobs by `keys`.'),
    blobs: z.array(z.strictObject({ key: blobKey, size_bytes: count, ...download })),
    missing: z.array(blobKey),
    rest: z.array(blobKey).describe('Ask for them by `keys`.'),
  })
  .meta({ id: 'SnapshotDownloads' })
