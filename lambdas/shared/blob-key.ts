import * as z from 'zod'
import { EXCHANGE_LIMIT } from '../../src/limits.ts'

/** The key of a blob, in a request. */
export const blobKey = z
  .string()
  .regex(
    /^sandbox-(files|artifacts)\/sha256\/[0-9a-f]{64}$/,
    'must be sandbox-files/sha256/ or sandbox-artifacts/sha256/ and 64 lowercase hex digits',
  )

/** The keys that one request may name. */
export const blobKeys = z.array(blobKey).min(1).max(EXCHANGE_LIMIT)
