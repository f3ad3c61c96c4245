import { InvalidInputError } from '../src/errors.ts'
import { parseScope } from '../src/tenancy/scope.ts'

export interface ClientOptions {
  /** Where the API answers, such as `https://….execute-api.eu-west-1.amazonaws.com/api`. */
  url: string
  /** An API key; this or a token has to be given. With both, both must be valid, and what both allow is allowed. */
  apiKey?: string | undefined
  /** A token of the identity provider, or what gives one: it is asked before each request, so it may renew it. */
  token?: TokenSource | undefined
  tenant: string
  project: string
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** Milliseconds for one request, and about the longest that it is repeated. Default 60,000. */
  timeoutMs?: number
  /** Ends all requests of the client; they reject with its reason. */
  signal?: AbortSignal
}

export type TokenSource = string | (() => string | Promise<string>)

/** How requests are sent. */
export interface Connection {
  fetch: typeof globalThis.fetch
  timeoutMs: number
  signal: AbortSignal | undefined
}

/** Options that were checked, with the defaults filled in. */
export interface Settings extends Connection {
  /** Without a slash at the end. */
  url: string
  /**
   * The headers of one request: credentials, tenant and project.
   * @throws InvalidInputError when the token's source gives none; what the source throws
   */
  headers: () => Promise<Record<string, string>>
}

const DEFAULT_TIMEOUT_MS = 60_000
const MAX_TIMEOUT_MS = 2_147_483_647

/** @throws InvalidInputError naming the option, or the header that a tenant or project would not fit. */
export function checkOptions(options: ClientOptions): Settings {
  const { apiKey, token, tenant, project, fetch = globalThis.fetch, timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options
  const url = checkUrl(options.url)
  if (apiKey === undefined && token === undefined) {
    throw new InvalidInputError('apiKey', 'apiKey or token must be given.')
  }
  if (apiKey !== undefined && !isHeaderText(apiKey)) {
    throw new InvalidInputError('apiKey', 'apiKey must be the text of an API key.')
  }
  if (token !== undefined && typeof token !== 'function') checkToken(token)
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) {
    throw new InvalidInputError('timeoutMs', 'timeoutMs must be a whole number of milliseconds, at least 1.')
  }
  const scope = parseScope(tenant, project)
  return {
    url,
    headers: async () => ({
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(token !== undefined && { authorization: `Bearer ${await tokenOf(token)}` }),
      'x-sandbox-tenant-id': scope.tenant,
      'x-sandbox-project-id': scope.project,
    }),
    fetch,
    timeoutMs,
    signal,
  }
}

async function tokenOf(source: TokenSource): Promise<string> {
  return typeof source === 'function' ? checkToken(await source()) : source
}

function checkToken(token: unknown): string {
  if (isHeaderText(token)) return token
  throw new InvalidInputError(
    'token',
    'token must be the text of a token, without "Bearer", or a function that gives it.',
  )
}

/** Visible ASCII: anything else cannot stand in a header. */
function isHeaderText(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)
}

function checkUrl(text: unknown): string {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new InvalidInputError('url', 'url must be an http or https address without user, query or fragment.')
  }
  return url.href.replace(/\/+$/, '')
}
