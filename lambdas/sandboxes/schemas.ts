import * as z from 'zod'
import { SANDBOX_STATUSES, SNAPSHOT_REASONS, SOURCE_TYPES } from '../../src/sandboxes/types.ts'
import { isWorkspaceKey, WORKSPACE_KEY_RULE } from '../../src/sandboxes/validate.ts'
import { blobKeys } from '../shared/blob-key.ts'
import { limit, page } from '../shared/page-schemas.ts'

const MAX_TTL_SECONDS = 2_592_000
export const MAX_LABELS = 64
export const MAX_LABEL_NAME = 128
export const MAX_LABEL_VALUE = 1_024
/** Of the JSON of all labels: with it a sandbox stays a small item. */
export const MAX_LABEL_BYTES = 16_384

function text(min: number, max: number) {
  return z
    .string()
    .min(min)
    .max(max)
    .refine((value) => value.isWellFormed(), 'must be well-formed Unicode')
}

/** Any names are good, `__proto__` too, which an object schema would drop. */
const labels = z.unknown().transform((value, context): Record<string, string> => {
  const refuse = (message: string, ...path: string[]) => {
    context.addIssue({ code: 'custom', path, message })
    return z.NEVER
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('must be an object of strings')
  const entries = Object.entries(value)
  if (entries.length > MAX_LABELS) return refuse(`must have at most ${MAX_LABELS} members`)
  for (const [name, label] of entries) {
    if (name === '' || name.length > MAX_LABEL_NAME || !name.isWellFormed()) {
      return refuse(`must have names of 1 to ${MAX_LABEL_NAME} characters of well-formed Unicode`)
    }
    if (typeof label !== 'string' || label.length > MAX_LABEL_VALUE || !label.isWellFormed()) {
      return refuse(`must be a string of at most ${MAX_LABEL_VALUE} characters of well-formed Unicode`, name)
    }
  }
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_LABEL_BYTES) {
    return refuse(`must have at most ${MAX_LABEL_BYTES} bytes of JSON`)
  }
  return Object.fromEntries(entries)
})

const ttlSeconds = z.int().min(1).max(MAX_TTL_SECONDS)
const requestToken = text(1, 128)

export const create = z.strictObject({
  profile: text(1, 128),
  task_id: z.string().max(128).optional(),
  labels: labels.optional(),
  source: z
    .strictObject({
      type: z.enum(SOURCE_TYPES),
      workspace_key: z.string().refine(isWorkspaceKey, WORKSPACE_KEY_RULE).optional(),
      sandbox_id: z.string().optional(),
      snapshot_seq: z.int().min(1).optional(),
    })
    .optional(),
  reuse: z.boolean().optional(),
  restore_latest: z.boolean().optional(),
  ttl_seconds: ttlSeconds.optional(),
  provider: text(1, 128).optional(),
  provider_sandbox_id: text(1, 512).optional(),
})

export const list = z.strictObject({
  task_id: z
    .string()
    .refine(isWorkspaceKey, WORKSPACE_KEY_RULE)
    .optional()
    .describe('Only those of this workspace key.'),
  status: z.enum(SANDBOX_STATUSES).optional().describe('Only those of this status.'),
  limit,
  page,
})
export const listSnapshots = z.strictObject({ limit, page })
export const renew = z.strictObject({ ttl_seconds: ttlSeconds.optional() })
/** Without keys: all blobs of the snapshot. */
export const snapshotDownloads = z.strictObject({ keys: blobKeys.optional() })
export const nothing = z.strictObject({})

/** Members of the checkpoint contract are let through whatever they hold: the store judges them. */
const contract = z.unknown().optional()

export const saveSnapshot = z.strictObject({
  reason: z.enum(SNAPSHOT_REASONS),
  files: contract,
  artifacts: contract,
  conversation: contract,
  label: text(0, 1_024).optional(),
  if_latest: z
    .strictObject({ sandbox_id: text(1, 128), snapshot_seq: z.int().min(1) })
    .nullable()
    .optional()
    .describe('Becomes the latest only if this snapshot is that until then; null: only if there is none.'),
  request_token: requestToken.optional(),
})
