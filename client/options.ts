import { InvalidInputError } from '../src/errors.ts'
import { parseScope } from '../src/tenancy/scope.ts'

export interface ClientOptions {
  /** Where the API answers, such as `https://….execute-api.eu-west-1.amazonaws.com/api`. */
  url: string
  apiKey: string
  tenant: string
  project: string
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** Milliseconds for one request, and about the longest that it is repeated. Default 60,000. */
  timeoutMs?: number
  /** Ends all requests of the client; they reject with its reason. */
  signal?: AbortSignal
}

/** Options that were checked, with the defaults filled in. */
export interface Settings {
  /** Without a slash at the end. */
  url: string
  headers: Readonly<Record<string, string>>
  fetch: typeof globalThis.fetch
  timeoutMs: number
  signal: AbortSignal | undefined
}

const DEFAULT_TIMEOUT_MS = 60_000
const MAX_TIMEOUT_MS = 2_147_483_647

/** @throws InvalidInputError naming the option, or the header that a tenant or project would not fit. */
export function checkOptions(options: ClientOptions): Settings {
  const { apiKey, tenant, project, fetch = globalThis.fetch, timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options
  const url = checkUrl(options.url)
  // Visible ASCII: anything else cannot stand in a header.
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new InvalidInputError('apiKey', 'apiKey must be the text of an API key.')
  }
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) {
    throw new InvalidInputError('timeoutMs', 'timeoutMs must be a whole number of milliseconds, at least 1.')
  }
  const scope = parseScope(tenant, project)
  return {
    url,
    headers: {
      'x-api-key': apiKey,
      'x-sandbox-tenant-id': scope.tenant,
      'x-sandbox-project-id': scope.project,
    },
    fetch,
    timeoutMs,
    signal,
  }
}

function checkUrl(text: unknown): string {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new InvalidInputError('url', 'url must be an http or https address without user, query or fragment.')
  }
  return url.href.replace(/\/+$/, '')
}
