import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { InvalidInputError } from '../src/errors.ts'
import { parseScope } from '../src/tenancy/scope.ts'
import { errnoOf, UsageError } from './errors.ts'

/** What is needed to talk to a deployment. */
export interface Settings {
  url: string
  apiKey: string
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
  tenant: { option: '--tenant', variable: 'SANDBOX_TENANT', configKey: 'tenant' },
  project: { option: '--project', variable: 'SANDBOX_PROJECT', configKey: 'project' },
}

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
 * The settings: each from its flag, else its environment variable, else the configuration file.
 * @throws UsageError that names what is missing or malformed, and how to give it.
 */
export async function resolveSettings(flags: Partial<Settings>, env: Environment): Promise<Settings> {
  const found: Partial<Settings> = {}
  const names = Object.keys(SOURCES) as Array<keyof Settings>
  for (const name of names) {
    const value = flags[name] || env[SOURCES[name].variable]
    if (value) found[name] = value
  }
  if (names.some((name) => found[name] === undefined)) {
    const config = await readConfig(configFile(env))
    for (const name of names) {
      const value = config[SOURCES[name].configKey]
      if (found[name] === undefined && value !== undefined) found[name] = value
    }
  }
  const { url, apiKey, tenant, project } = found
  if (url === undefined || apiKey === undefined || tenant === undefined || project === undefined) {
    throw missing(
      names.filter((name) => found[name] === undefined).map((name) => SOURCES[name]),
      configFile(env),
    )
  }
  checkUrl(url)
  checkScope(tenant, project)
  return { url, apiKey, tenant, project }
}

function missing(sources: Source[], file: string): UsageError {
  const list = (texts: string[]) => texts.join(', ')
  const options = list(sources.map(({ option }) => option))
  const variables = list(sources.map(({ variable }) => variable))
  const keys = list(sources.map(({ configKey }) => `"${configKey}"`))
  return new UsageError(`Missing settings. Give ${options}; or set ${variables}; or put ${keys} into ${file}.`)
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
    throw new UsageError(`${file} is not valid JSON. It should hold "url", "api_key", "tenant" and "project".`, {
      cause: error,
    })
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new UsageError(`${file} should hold one JSON object with "url", "api_key", "tenant" and "project".`)
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
