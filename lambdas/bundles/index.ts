import { sandboxConfigFromEnvironment } from '../sandboxes/config.ts'
import { createHandler } from './handler.ts'

export const handler = createHandler(sandboxConfigFromEnvironment(process.env))
