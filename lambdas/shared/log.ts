import { Logger } from '@aws-lambda-powertools/logger'

export type LogLevel = 'INFO' | 'WARN' | 'ERROR'

const METHODS = { INFO: 'info', WARN: 'warn', ERROR: 'error' } as const

// The stack sets POWERTOOLS_LOG_LEVEL to INFO; in a process of somebody else's the lines of each request would be noise.
const logger = new Logger({ ...(process.env.POWERTOOLS_LOG_LEVEL === undefined && { logLevel: 'WARN' }) })

/** One structured line; errors with name, message, stack and causes. Give it nothing that a caller sent. */
export function log(level: LogLevel, message: string, fields: Record<string, unknown>): void {
  logger[METHODS[level]](message, fields)
}
