import { ENVIRONMENT } from '../../src/environment.ts'
import { configFromEnvironment, type HandlerConfig, requiredRetention } from '../shared/config.ts'

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
  return requiredRetention(environment, ENVIRONMENT.sandboxRetention)
}
