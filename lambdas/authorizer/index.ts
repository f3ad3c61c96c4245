import { oidcFromEnvironment } from '../../src/access/settings.ts'
import { configFromEnvironment } from '../shared/config.ts'
import { createHandler } from './handler.ts'

export const handler = createHandler({
  ...configFromEnvironment(process.env),
  oidc: oidcFromEnvironment(process.env),
})
