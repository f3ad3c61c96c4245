import { sweepConfigFromEnvironment } from '../shared/sweep-config.ts'
import { createHandler } from './handler.ts'

export const handler = createHandler(sweepConfigFromEnvironment(process.env))
