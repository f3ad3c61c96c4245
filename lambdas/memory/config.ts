import { ENVIRONMENT } from '../../src/environment.ts'
import { configFromEnvironment, type HandlerConfig, requiredRetention } from '../shared/config.ts'

export interface MemoryHandlerConfig extends HandlerConfig {
  /** Seconds for which a task is kept after its last write. Default: 30 days. */
  memoryRetentionSec?: number | undefined
}

/** @throws Error naming the variable that is not set or not a number */
export function memoryConfigFromEnvironment(environment: NodeJS.ProcessEnv): MemoryHandlerConfig {
  const memoryRetentionSec = requiredRetention(environment, ENVIRONMENT.memoryRetention)
  return { ...configFromEnvironment(environment), memoryRetentionSec }
}
