import { configFromEnvironment } from '../shared/config.ts'
import { createHandler } from './handler.ts'

export const handler = awslambda.streamifyResponse(createHandler(configFromEnvironment(process.env)))
