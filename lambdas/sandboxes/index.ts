import { bundlesRequesterFromEnvironment } from '../shared/bundles-config.ts'
import { sandboxConfigFromEnvironment } from './config.ts'
import { createHandler } from './handler.ts'

export const handler = createHandler({
  ...sandboxConfigFromEnvironment(process.env),
  ...bundlesRequesterFromEnvironment(process.env),
})
