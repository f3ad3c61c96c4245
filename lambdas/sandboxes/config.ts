import { ENVIRONMENT } from '../../src/environment.ts'
import { isRetention, RETENTION_RULE } from '../../src/limits.ts'
import { configFromEnvironment, type HandlerConfig, required } from '../shared/config.ts'

export interface SandboxHandlerConfig extends HandlerConfig {
  /** How long an expired or destroyed sandbox is kept, in seconds. Default: 30 days. */
  sandboxRetentionSec?: number | undefined
}

/** @throws Error naming the variable that is not set or not a number */
export function sandboxConfigFromEnvironment(environment: NodeJS.ProcessEnv): SandboxHandlerConfig {
  return { ...configFromEnvironment(environment), sandboxRetentionSec: sandboxRetentionSec(environment) }
}

/** @throws Error naming the variable */
export function sandboxRetentionSec(environment: NodeJS.ProcessEnv): number {
  const seconds = Number(required(environment, ENVIRONMENT.sandboxRetention))
  if (isRetention(seconds)) return seconds
  throw new Error(`The environment variable ${ENVIRONMENT.sandboxRetention} must be ${RETENTION_RULE}.`)
}
