import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { InvalidInputError } from '../src/errors.ts'
import { parseScope } from '../src/tenancy/scope.ts'
import { errnoOf, UsageError } from './errors.ts'

/** What is needed to talk to a deployment. */
export interface Settings {
  url: string
  /** This or a token, or both. */
  apiKey?: string
  token?: string
  tenant: string
  project: string
}

export type Environment = Readonly<Record<string, string | undefined>>

interface Source {
  option: string
  variable: string
  configKey: string
}

const SOURCES: Readonly<Record<keyof Settings, Source>> = {
  url: { option: '--url', variable: 'SANDBOX_GATEWAY_URL', configKey: 'url' },
  apiKey: { option: '--api-key', variable: 'SANDBOX_API_KEY', configKey: 'api_key' },
  token: { option: '--token', variable: 'SANDBOX_TOKEN', configKey: 'token' },
  tenant: { option: '--tenant', variable: 'SANDBOX_TENANT', configKey: 'tenant' },
  project: { option: '--project', variable: 'SANDBOX_PROJECT', configKey: 'project' },
}

const names = Object.keys(SOURCES) as Array<keyof Settings>

/** Where the configuration is read from. */
export function configFile(env: Environment): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'sandkeep', 'config.json')
}

/** Where the stat caches are kept. */
export function cacheFolder(env: Environment): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'sandkeep')
}

/** Where is kept what must outlast a run. */
export function stateFolder(env: Environment): string {
  return join(env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state'), 'sandkeep')
}

/**
 * The settings: each from its flag, else its environment variable, else the configuration file. The key and the token
 * of the file count only where neither is given otherwise: a token is not sent with somebody else's key by chance.
 * @throws UsageError that names what is missing or malformed, and how to give it.
 */
export async function resolveSettings(flags: Partial<Settings>, env: Environment): Promise<Settings> {
  const found: Partial<Settings> = {}
  for (const name of names) {
    const value = flags[name] || env[SOURCES[name].variable]
    if (value) found[name] = value
  }
  const lacking = missingNames(found)
  if (lacking.length > 0) {
    const config = await readConfig(configFile(env))
    for (const name of lacking) {
      const value = config[SOURCES[name].configKey]
      if (value !== undefined) found[name] = value
    }
  }
  const { url, tenant, project, ...credentials } = found
  if (url === undefined || tenant === undefined || project === undefined || Object.keys(credentials).length === 0) {
    throw missing(missingNames(found), configFile(env))
  }
  checkUrl(url)
  checkScope(tenant, project)
  return { url, tenant, project, ...credentials }
}

/** What is not there yet; of the key and the token, both are missing or none. */
function missingNames({ url, apiKey, token, tenant, project }: Partial<Settings>): Array<keyof Settings> {
  const given: Record<keyof Settings, unknown> = {
    url,
    apiKey: apiKey ?? token,
    token: token ?? apiKey,
    tenant,
    project,
  }
  return names.filter((name) => given[name] === undefined)
}

function missing(lacking: Array<keyof Settings>, file: string): UsageError {
  const list = (texts: string[]) => texts.join(', ')
  const sources = lacking.filter((name) => name !== 'token').map((name) => SOURCES[name])
  const options = list(sources.map(({ option }) => option))
  const variables = list(sources.map(({ variable }) => variable))
  const keys = list(sources.map(({ configKey }) => `"${configKey}"`))
  const { option, variable } = SOURCES.token
  const or = lacking.includes('token') ? ` Instead of the key a token will do: ${option} or ${variable}.` : ''
  return new UsageError(`Missing settings. Give ${options}; or set ${variables}; or put ${keys} into ${file}.${or}`)
}

async function readConfig(file: string): Promise<Record<string, string>> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return {}
    throw new UsageError(`Cannot read ${file} (${errnoOf(error)}).`, { cause: error })
  }
  let config: unknown
  try {
    config = JSON.parse(text)
  } catch (error) {
    throw new UsageError(
      `${file} is not valid JSON. It should hold "url", "api_key" or "token", "tenant" and "project".`,
      {
        cause: error,
      },
    )
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new UsageError(
      `${file} should hold one JSON object with "url", "api_key" or "token", "tenant" and "project".`,
    )
  }
  const strings: Record<string, string> = {}
  for (const { configKey } of Object.values(SOURCES)) {
    const value: unknown = (config as Record<string, unknown>)[configKey]
    if (value === undefined) continue
    if (typeof value !== 'string' || value === '') throw new UsageError(`"${configKey}" in ${file} should be a text.`)
    strings[configKey] = value
  }
  return strings
}

function checkUrl(url: string): void {
  const parsed = URL.parse(url)
  // The text itself is not repeated: it may hold a password, and messages go to logs.
  if (parsed === null || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')) {
    throw new UsageError(
      'The URL of the API is malformed. It should start with https:// (or http:// for a local stack).',
    )
  }
  if (parsed.username === '' && parsed.password === '') return
  throw new UsageError('The URL of the API should hold no user name and no password. The key is given with --api-key.')
}

function checkScope(tenant: string, project: string): void {
  try {
    parseScope(tenant, project)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new UsageError(`The tenant or the project is malformed: ${error.message}`, { cause: error })
  }
}
