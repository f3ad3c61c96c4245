export type LogLevel = 'INFO' | 'WARN' | 'ERROR'

/** One structured line; errors with name, message, stack and causes. Give it nothing that a caller sent. */
export function log(level: LogLevel, message: string, fields: Record<string, unknown>): void {
  const line = JSON.stringify({ level, message, ...fields }, (_key, value: unknown) =>
    value instanceof Error ? describeError(value) : value,
  )
  if (level === 'ERROR') console.error(line)
  else if (level === 'WARN') console.warn(line)
  else console.log(line)
}

function describeError(error: Error): Record<string, unknown> {
  return { name: error.name, message: error.message, stack: error.stack, cause: error.cause }
}
