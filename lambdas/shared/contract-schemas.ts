import * as z from 'zod'

/**
 * The shapes of the checkpoint contract, for the description of the API: services let such values through whatever they
 * hold, because the store decides which of the contract's errors they make.
 */

/** Of threads and checkpoints. */
export const contractId = z
  .string()
  .min(1)
  .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
  .meta({ id: 'Id', description: 'A non-empty string of well-formed Unicode.' })

const size = z.int().min(0).describe('Bytes.')
const path = z
  .string()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a NUL is what must not be in it.
  .regex(/^(?![A-Za-z]:(?:\/|$))(?![\s\S]*(?:^|\/)\.{0,2}(?:\/|$))[^\u0000\\]+$/)
  .describe('Relative, with `/` between its parts; no part empty, `.` or `..`; no NUL, backslash or drive.')
const absent = z.never().optional()

const fileEntry = z.looseObject({
  path,
  kind: z.literal('file'),
  blobKey: z.string().regex(/^sandbox-files\/sha256\/[0-9a-f]{64}$/),
  size,
  mode: z.int().min(0).max(0o7777).optional().describe('Permission bits.'),
})
const directoryEntry = z.looseObject({ path, kind: z.literal('dir'), blobKey: absent, size: absent })
const symlinkEntry = z.looseObject({
  path,
  kind: z.literal('symlink'),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a NUL is what must not be in it.
  target: z.string().regex(/^[^\u0000]+$/),
  blobKey: absent,
  size: absent,
})

export const snapshotEntry = z
  .discriminatedUnion('kind', [fileEntry, directoryEntry, symlinkEntry])
  .meta({ id: 'SnapshotEntry', description: 'A file, directory or symbolic link of the workspace.' })

export const snapshotArtifact = z
  .looseObject({
    artifactId: z.string().min(1),
    name: z.string().min(1),
    mimeType: z.string().min(1),
    size,
    blobKey: z.string().regex(/^sandbox-artifacts\/sha256\/[0-9a-f]{64}$/),
    createdAt: z.number(),
  })
  .meta({ id: 'SnapshotArtifact' })

export const files = z
  .array(snapshotEntry)
  .describe('No path twice, and none beneath an entry that is not a directory. Parents need no entry.')
export const conversation = z.array(z.unknown()).describe('Any JSON values.')
export const artifacts = z.array(snapshotArtifact)

export const checkpoint = z
  .looseObject({
    id: contractId.describe('Unique across all threads of the project.'),
    threadId: contractId,
    parentCheckpointId: contractId.nullable(),
    createdAt: z.number().describe('By custom milliseconds since the epoch.'),
    reason: z.enum(['automatic', 'named', 'fork-root']),
    label: z.string().optional(),
    sourceRunId: z.string().optional(),
    files,
    conversation,
    artifacts,
  })
  .meta({ id: 'Checkpoint', description: 'Kept as the caller made it, unknown fields too.' })

/** What a write presents to prove that it holds the thread. */
export const writer = z
  .strictObject({ thread_id: contractId, owner_token: z.string(), fence: z.number() })
  .meta({ id: 'Writer', description: 'Of a lease.' })
