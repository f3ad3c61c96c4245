import { memoryConfigFromEnvironment } from './config.ts'
import { createHandler } from './handler.ts'

export const handler = createHandler(memoryConfigFromEnvironment(process.env))
