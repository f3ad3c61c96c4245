import { fillResponseTemplate, mapHeaders } from './constant-mapping.ts'
import type { ApiModel } from './model.ts'

/** An answer that is ready to be sent. */
export interface Answer {
  status: number
  /** In sending order; a name may come more than once. */
  headers: [name: string, value: string][]
  body: Buffer
}

/** The kinds of refusal that this gateway makes, with the status that AWS gives them. */
const defaultStatus = {
  ACCESS_DENIED: 403,
  API_CONFIGURATION_ERROR: 500,
  AUTHORIZER_CONFIGURATION_ERROR: 500,
  DEFAULT_4XX: 400,
  DEFAULT_5XX: 500,
  INTEGRATION_FAILURE: 504,
  INTEGRATION_TIMEOUT: 504,
  INVALID_API_KEY: 403,
  MISSING_AUTHENTICATION_TOKEN: 403,
  REQUEST_TOO_LARGE: 413,
  THROTTLED: 429,
  UNAUTHORIZED: 401,
  UNSUPPORTED_MEDIA_TYPE: 415,
} as const

export type RefusalType = keyof typeof defaultStatus

/** The gateway itself refuses the request. */
export class Refusal extends Error {
  readonly type: RefusalType
  readonly status: number
  /** What the authorizer had said by then. */
  readonly authorizer: Readonly<Record<string, unknown>>

  constructor(
    type: RefusalType,
    options: { status?: number; cause?: unknown; authorizer?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(`The gateway refused the request: ${type}.`, { cause: options.cause })
    this.name = 'Refusal'
    this.type = type
    this.status = options.status ?? defaultStatus[type]
    this.authorizer = options.authorizer ?? {}
  }
}

/** Words a refusal as the gateway responses of the API say; the default of its class stands in for a missing one. */
export function refusalAnswer(api: ApiModel, refusal: Refusal, requestId: string): Answer {
  const fallback = refusal.status < 500 ? 'DEFAULT_4XX' : 'DEFAULT_5XX'
  const response = api.gatewayResponses.get(refusal.type) ?? api.gatewayResponses.get(fallback)
  if (!response) throw new Error(`There is no gateway response ${refusal.type} or ${fallback}.`)
  return {
    status: response.status ?? refusal.status,
    headers: [
      ['content-type', response.contentType],
      ['x-amzn-errortype', refusal.type],
      ...Object.entries(mapHeaders(response.headers, requestId)),
    ],
    body: Buffer.from(fillResponseTemplate(response.body, refusal.authorizer)),
  }
}
