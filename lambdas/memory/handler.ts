import { createMemoryStore } from '../../src/memory/store.ts'
import { type ApiHandler, createApiHandler } from '../shared/api.ts'
import type { HandlerConfig } from '../shared/config.ts'
import { largeAnswer } from '../shared/large-answer.ts'
import { artifactActions } from './artifact-actions.ts'
import type { MemoryHandlerConfig } from './config.ts'
import { pathParameters } from './path-parameters.ts'
import { requestContent } from './request-content.ts'
import { ROUTES } from './routes.ts'
import type { Memory } from './service.ts'
import { taskActions } from './task-actions.ts'

/** The memory service: turns, artifacts and tasks. */
export function createHandler({ memoryRetentionSec, ...config }: MemoryHandlerConfig): ApiHandler {
  return createServiceHandler(config, ({ scope }) =>
    createMemoryStore({ ...config, retentionSec: memoryRetentionSec, scope }),
  )
}

/** The same over any store. */
export function createServiceHandler(config: Pick<HandlerConfig, 's3' | 'bucketName'>, memory: Memory): ApiHandler {
  return createApiHandler({
    routes: ROUTES,
    actions: { ...taskActions(memory), ...artifactActions(memory) },
    body: [pathParameters(), requestContent(), largeAnswer(config.s3, config.bucketName)],
  })
}
