import { ANTHROPIC_BASE_URL, type AnthropicConnection } from '../../src/anthropic/connection.ts'
import { ENVIRONMENT } from '../../src/environment.ts'
import type { BackendName } from '../../src/files/backend.ts'
import { configFromEnvironment, type HandlerConfig } from './config.ts'
import { secretText } from './secret.ts'

/** What the functions need that have to do with files. */
export interface FilesHandlerConfig extends HandlerConfig {
  /** Where files of the backend `anthropic` are. */
  anthropic?: AnthropicConnection | undefined
  /** Where uploads go. @default s3 */
  filesBackend?: BackendName | undefined
  /** Whose pages may read the answers. @default none */
  corsOrigins?: readonly string[] | undefined
}

/** @throws Error naming the variable that is not set or not valid */
export function filesConfigFromEnvironment(environment: NodeJS.ProcessEnv): FilesHandlerConfig {
  const config = configFromEnvironment(environment)
  const filesBackend = environment[ENVIRONMENT.filesBackend]
  if (filesBackend !== undefined && filesBackend !== 's3' && filesBackend !== 'anthropic') {
    throw new Error(`The environment variable ${ENVIRONMENT.filesBackend} must be s3 or anthropic.`)
  }
  return {
    ...config,
    anthropic: anthropicFromEnvironment(environment),
    filesBackend,
    corsOrigins: corsOriginsFromEnvironment(environment),
  }
}

/** How to reach Anthropic's API; undefined where the stack has no key for it. */
export function anthropicFromEnvironment(environment: NodeJS.ProcessEnv): AnthropicConnection | undefined {
  const secretArn = environment[ENVIRONMENT.anthropicSecret]
  if (secretArn === undefined) return undefined
  const baseUrl = environment[ENVIRONMENT.anthropicBaseUrl] ?? ANTHROPIC_BASE_URL
  return { baseUrl, apiKey: secretText({ secretArn }) }
}

/** Origins hold no spaces, so they stand with spaces between them. */
export function corsOriginsFromEnvironment(environment: NodeJS.ProcessEnv): string[] {
  return (environment[ENVIRONMENT.corsOrigins] ?? '').split(' ').filter((origin) => origin !== '')
}
