/** Quotas of API Gateway's REST APIs and of Lambda's synchronous invocations. */

/** The body of a request, as sent. */
export const MAX_PAYLOAD_BYTES = 10_485_760

/** The request line and all header values of a request. */
export const MAX_HEADER_BYTES = 10_240

/** The event that a function takes, and the result that it gives, as JSON: 6 MiB and a little for the envelope. */
export const MAX_INVOCATION_BYTES = 6_291_556
