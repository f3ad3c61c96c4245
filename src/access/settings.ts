import { ENVIRONMENT } from '../environment.ts'
import { InvalidInputError } from '../errors.ts'
import { ROLES, type Role } from '../keys/types.ts'

/** Which identity provider's tokens are taken, and what is read from them. */
export interface OidcSettings {
  /** As in the tokens' claim `iss`, to the character: `https://sso.example.com/realms/acme`. */
  readonly issuer: string
  /** What the tokens' claim `aud` has to hold. Default: `clientId`. One of the two has to be given. */
  readonly audience?: string | undefined
  /** The client whose roles count beside the realm's, and whose UMA resources are asked about. Default: `audience`. */
  readonly clientId?: string | undefined
  /** Where the keys are. Default: as the provider's discovery document says. */
  readonly jwksUri?: string | undefined
  /** Whether the provider is asked, by a UMA decision, about each route. Default: true. */
  readonly uma?: boolean | undefined
  /** The claim with the list of `tenant/project` that the token is good for. Default: `sandbox_projects`. */
  readonly projectsClaim?: string | undefined
  /** Which role each role of the token gives here. Default: `viewer`, `writer`, `project_admin`, `platform` as named. */
  readonly roles?: Readonly<Record<string, Role>> | undefined
}

/** Settings that were checked, with the defaults filled in. */
export interface OidcConfig {
  readonly issuer: string
  readonly audience: string
  readonly clientId: string
  readonly jwksUri: string | undefined
  readonly uma: boolean
  readonly projectsClaim: string
  readonly roles: ReadonlyMap<string, Role>
}

const DEFAULT_PROJECTS_CLAIM = 'sandbox_projects'

/** @throws InvalidInputError naming the setting */
export function checkOidc(settings: OidcSettings): OidcConfig {
  const { issuer, jwksUri, uma = true, projectsClaim = DEFAULT_PROJECTS_CLAIM, roles } = settings
  const audience = settings.audience ?? settings.clientId
  if (audience === undefined)
    throw new InvalidInputError('oidc.audience', 'oidc.audience or oidc.clientId is required.')
  const clientId = settings.clientId ?? audience
  checkAddress('issuer', issuer)
  if (jwksUri !== undefined) checkAddress('jwksUri', jwksUri)
  for (const [name, text] of Object.entries({ audience, clientId, projectsClaim })) {
    if (typeof text !== 'string' || text === '')
      throw new InvalidInputError(`oidc.${name}`, `oidc.${name} must be a text.`)
  }
  if (typeof uma !== 'boolean') throw new InvalidInputError('oidc.uma', 'oidc.uma must be true or false.')
  return { issuer, audience, clientId, jwksUri, uma, projectsClaim, roles: checkRoles(roles) }
}

/** The variables that `oidcFromEnvironment` reads the settings from. */
export function oidcToEnvironment(settings: OidcSettings): Record<string, string> {
  const { issuer, audience, clientId, jwksUri, uma, projectsClaim, roles } = settings
  const texts: Array<[name: string, text: string | undefined]> = [
    [ENVIRONMENT.oidcIssuer, issuer],
    [ENVIRONMENT.oidcAudience, audience],
    [ENVIRONMENT.oidcClientId, clientId],
    [ENVIRONMENT.oidcJwksUri, jwksUri],
    [ENVIRONMENT.oidcUma, uma === undefined ? undefined : String(uma)],
    [ENVIRONMENT.oidcProjectsClaim, projectsClaim],
    [ENVIRONMENT.oidcRoles, roles && JSON.stringify(roles)],
  ]
  return Object.fromEntries(texts.filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/**
 * The settings in environment variables, or undefined where no issuer is set: no tokens are taken then.
 * @throws InvalidInputError naming the variable or the setting
 */
export function oidcFromEnvironment(environment: NodeJS.ProcessEnv): OidcSettings | undefined {
  // What is empty counts as not set, as in a shell.
  const read = (name: string): string | undefined => environment[name] || undefined
  const issuer = read(ENVIRONMENT.oidcIssuer)
  if (issuer === undefined) return undefined
  const settings: OidcSettings = {
    issuer,
    audience: read(ENVIRONMENT.oidcAudience),
    clientId: read(ENVIRONMENT.oidcClientId),
    jwksUri: read(ENVIRONMENT.oidcJwksUri),
    uma: readFlag(ENVIRONMENT.oidcUma, read(ENVIRONMENT.oidcUma)),
    projectsClaim: read(ENVIRONMENT.oidcProjectsClaim),
    roles: readRoles(ENVIRONMENT.oidcRoles, read(ENVIRONMENT.oidcRoles)),
  }
  checkOidc(settings)
  return settings
}

function readFlag(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined
  if (text !== 'true' && text !== 'false') throw new InvalidInputError(name, `${name} must be true or false.`)
  return text === 'true'
}

function readRoles(name: string, text: string | undefined): Record<string, Role> | undefined {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new InvalidInputError(name, `${name} must be JSON, such as {"sandbox-admin":"project_admin"}.`, { cause })
  }
}

function checkRoles(roles: OidcSettings['roles']): Map<string, Role> {
  if (roles === undefined) return new Map(ROLES.map((role) => [role, role]))
  const entries = typeof roles === 'object' && roles !== null && !Array.isArray(roles) ? Object.entries(roles) : []
  if (entries.length === 0 || !entries.every(([name, role]) => name !== '' && ROLES.includes(role))) {
    throw new InvalidInputError('oidc.roles', `oidc.roles must map names of roles to ${ROLES.join(', ')}.`)
  }
  return new Map(entries)
}

function checkAddress(name: string, text: unknown): void {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url && ['http:', 'https:'].includes(url.protocol) && !url.username && !url.password && !url.hash) return
  throw new InvalidInputError(`oidc.${name}`, `oidc.${name} must be an http or https address.`)
}
