import * as z from 'zod'

export const byKey = z.strictObject({ key: z.string().min(1) })

/** What else a record holds is the caller's, and kept. */
export const record = z.looseObject({
  key: z.string().min(1),
  provider: z.string(),
  providerSandboxId: z.string(),
  latestSnapshotId: z.string().exactOptional(),
  threadId: z.string(),
  latestRunId: z.string().exactOptional(),
  updatedAt: z.number(),
})
export const upsert = z.strictObject({ record })
