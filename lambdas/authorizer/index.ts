import { oidcFromEnvironment } from '../../src/access/settings.ts'
import { slotsFromEnvironment } from '../../src/keys/throttle-slots.ts'
import { configFromEnvironment } from '../shared/config.ts'
import { createHandler } from './handler.ts'

export const handler = createHandler({
  ...configFromEnvironment(process.env),
  oidc: oidcFromEnvironment(process.env),
  slots: slotsFromEnvironment(process.env),
})
