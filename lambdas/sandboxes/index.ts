import { sandboxConfigFromEnvironment } from './config.ts'
import { createHandler } from './handler.ts'

export const handler = createHandler(sandboxConfigFromEnvironment(process.env))
