/** Quotas of API Gateway's REST APIs and of Lambda's synchronous invocations. */

/** The body of a request, as sent. */
export const MAX_PAYLOAD_BYTES = 10_485_760

/** The request line and all header values of a request. */
export const MAX_HEADER_BYTES = 10_240

/** The ARN of a method with the path of a request, where an authorizer is asked. */
export const MAX_METHOD_ARN_BYTES = 1_600

/** The event that a function takes, and the result that it gives, as JSON: 6 MiB and a little for the envelope. */
export const MAX_INVOCATION_BYTES = 6_291_556

/** All that a function streams, its head included. */
export const MAX_STREAM_BYTES = 209_715_200

/** The head of a streamed answer with the NUL bytes behind it. */
export const MAX_HEAD_BYTES = 16_384

/** The least that may be set for how long the gateway waits for a function's whole answer. */
export const MIN_TIMEOUT_MS = 50

/** The most that may be set for it. */
export const MAX_TIMEOUT_MS = { buffered: 29_000, streamed: 900_000 } as const

/** How long a streamed answer may pause, in milliseconds, by the kind of endpoint. */
export const STREAM_IDLE_MS: Readonly<Record<string, number>> = { REGIONAL: 300_000, PRIVATE: 300_000, EDGE: 30_000 }
