import { createSandboxStore } from '../../src/sandboxes/store.ts'
import { type ApiHandler, createApiHandler } from '../shared/api.ts'
import { bodyText } from '../shared/body-text.ts'
import type { HandlerConfig } from '../shared/config.ts'
import { documents } from '../shared/documents.ts'
import { largeAnswer } from '../shared/large-answer.ts'
import { stageAction } from '../shared/stage-action.ts'
import { type Sandboxes, sandboxActions } from './actions.ts'
import type { SandboxHandlerConfig } from './config.ts'
import { BASE, ROUTES } from './routes.ts'

/** The sandboxes service: sandboxes, their states, and the snapshots of their workspaces. */
export function createHandler(config: SandboxHandlerConfig): ApiHandler {
  return createServiceHandler(config, ({ scope }) => createSandboxStore({ ...config, scope }))
}

/** The same over any store. */
export function createServiceHandler(
  config: Pick<HandlerConfig, 's3' | 'bucketName'>,
  sandboxes: Sandboxes,
): ApiHandler {
  return createApiHandler({
    routes: ROUTES,
    actions: { ...sandboxActions(sandboxes), stageUpload: stageAction(config) },
    body: [
      bodyText({ upload: `${BASE}/uploads`, emptyIsObject: true }),
      documents(config.s3, config.bucketName),
      largeAnswer(config.s3, config.bucketName),
    ],
  })
}
