/**
 * A request or answer body above this many raw bytes travels through S3. Lambda takes and gives 6 MB of JSON, in which
 * the body is base64: 4 MiB become 5.6 MB.
 */
export const INLINE_LIMIT_BYTES = 4_194_304

/** The largest request body that travels through S3. It bounds the memory of the function that reads it. */
export const STAGED_LIMIT_BYTES = 67_108_864

/** How many objects and arrays of a JSON body may stand in one another: a checkpoint of 1,000, and what is around it. */
export const MAX_JSON_DEPTH = 1_024

/**
 * How many commas and opening brackets a JSON body may have: about as many as it has values. The manifest of 100,000
 * files has 600,000. It bounds the memory of the function that parses the body.
 */
export const MAX_JSON_MARKS = 2_000_000

/** How many blobs one exchange request may name. */
export const EXCHANGE_LIMIT = 1_000

/** The longest that a sweep waits for writer leases to end: its function has 15 minutes for all it does. */
export const MAX_SWEEP_WAIT_MS = 600_000

/** How long presigned requests hold, in seconds. */
export const PRESIGNED_SECONDS = 900

/** The largest object that one PutObject takes: 5 GiB. */
export const MAX_BLOB_BYTES = 5_368_709_120

/** The meta of a turn, in bytes of compact JSON in UTF-8. */
export const MAX_META_BYTES = 65_536

/** The summary of a turn, in bytes of UTF-8. */
export const MAX_SUMMARY_BYTES = 1_048_576

export const MAX_ARTIFACT_BYTES = 52_428_800

/** Names in one turn. */
export const MAX_ARTIFACTS = 10_000

/** How long an expired or destroyed sandbox is kept, unless the stack says otherwise: 30 days. */
export const SANDBOX_RETENTION_SECONDS = 2_592_000

/** How long a task is kept after its last write, unless the stack says otherwise: 30 days. */
export const MEMORY_RETENTION_SECONDS = 2_592_000

/** The longest retention in seconds, 100 years: times beyond the year 9999 have no RFC 3339 text. */
export const MAX_RETENTION_SECONDS = 3_155_760_000

export const RETENTION_RULE = `a whole number of seconds from 1 to ${MAX_RETENTION_SECONDS}`

/** Whether a number of seconds can be a retention. */
export function isRetention(seconds: number): boolean {
  return Number.isSafeInteger(seconds) && seconds >= 1 && seconds <= MAX_RETENTION_SECONDS
}
