import { InvalidInputError } from '../../src/errors.ts'
import { PROJECT_HEADER, parseScope, TENANT_HEADER } from '../../src/tenancy/scope.ts'
import type { CallerOptions, SandboxScope, SandkeepAIEnv } from './types.ts'

/** Where to send requests, and as whom. */
export interface Connection {
  /** Without a slash at the end. */
  url: string
  /** All that say who calls, in lower case. */
  headers: Readonly<Record<string, string>>
  apiKey: string | undefined
  token: string | undefined
  fetch: typeof globalThis.fetch
}

/** Visible ASCII: anything else cannot stand in these headers. */
const headerTextPattern = /^[\x21-\x7e]+$/
const userPattern = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/

/** @throws InvalidInputError naming the variable or the option */
export function connect(env: SandkeepAIEnv, options: CallerOptions): Connection {
  const url = checkUrl(env.SANDBOX_GATEWAY_URL)
  const scope = parseScope(
    required('SANDBOX_TENANT', env.SANDBOX_TENANT),
    required('SANDBOX_PROJECT', env.SANDBOX_PROJECT),
  )
  const apiKey = optional('SANDBOX_API_KEY', env.SANDBOX_API_KEY || undefined)
  // A token that is given but empty is refused: to take the owner's instead would give a stranger the owner's files.
  // Beside a key that acts for a user, the owner's token would say that the owner calls.
  const byKey = options.userId !== undefined && apiKey !== undefined
  const ownerToken = byKey ? undefined : optional('APP_OWNER_JWT', env.APP_OWNER_JWT || undefined)
  const token = optional('authToken', options.authToken) ?? ownerToken
  if (apiKey === undefined && token === undefined) {
    throw new InvalidInputError('authToken', 'Give authToken, or set APP_OWNER_JWT or SANDBOX_API_KEY.')
  }
  if (options.userId !== undefined && !userPattern.test(options.userId)) {
    throw new InvalidInputError('userId', 'userId must be printable ASCII without spaces at its ends.')
  }
  return {
    url,
    apiKey,
    token,
    headers: {
      [TENANT_HEADER.toLowerCase()]: scope.tenant,
      [PROJECT_HEADER.toLowerCase()]: scope.project,
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(options.userId !== undefined && { 'x-sandbox-user-id': options.userId }),
    },
    // Called as a function of its own: browsers refuse `fetch` as a method of anything else.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
  }
}

/** @throws InvalidInputError naming the option */
export function checkScopeOption(option: string, value: SandboxScope | undefined): SandboxScope {
  if (value === undefined) return 'user'
  if (value === 'user' || value === 'app') return value
  throw new InvalidInputError(option, `${option} must be "user" or "app".`)
}

function required(variable: string, value: string | undefined): string {
  if (typeof value === 'string' && value !== '') return value
  throw new InvalidInputError(variable, `${variable} is not set.`)
}

function optional(name: string, value: string | undefined): string | undefined {
  if (value === undefined || (typeof value === 'string' && headerTextPattern.test(value))) return value
  throw new InvalidInputError(name, `${name} must be visible ASCII without spaces.`)
}

function checkUrl(text: string | undefined): string {
  const url = URL.parse(required('SANDBOX_GATEWAY_URL', text))
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new InvalidInputError(
      'SANDBOX_GATEWAY_URL',
      'SANDBOX_GATEWAY_URL must be an http or https address without user, query or fragment.',
    )
  }
  return url.href.replace(/\/+$/, '')
}
