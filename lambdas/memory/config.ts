import { ENVIRONMENT } from '../../src/environment.ts'
import { isRetention, RETENTION_RULE } from '../../src/limits.ts'
import { configFromEnvironment, type HandlerConfig, required } from '../shared/config.ts'

export interface MemoryHandlerConfig extends HandlerConfig {
  /** Seconds for which a task is kept after its last write. Default: 30 days. */
  memoryRetentionSec?: number | undefined
}

/** @throws Error naming the variable that is not set or not a number */
export function memoryConfigFromEnvironment(environment: NodeJS.ProcessEnv): MemoryHandlerConfig {
  const memoryRetentionSec = Number(required(environment, ENVIRONMENT.memoryRetention))
  if (!isRetention(memoryRetentionSec)) {
    throw new Error(`The environment variable ${ENVIRONMENT.memoryRetention} must be ${RETENTION_RULE}.`)
  }
  return { ...configFromEnvironment(environment), memoryRetentionSec }
}
