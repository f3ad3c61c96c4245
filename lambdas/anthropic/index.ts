import { filesConfigFromEnvironment } from '../shared/files-config.ts'
import { createHandler } from './handler.ts'

export const handler = awslambda.streamifyResponse(createHandler(filesConfigFromEnvironment(process.env)))
