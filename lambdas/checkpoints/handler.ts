import { createBlobStore } from '../../src/blobs/store.ts'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import { createSweepService } from '../../src/sweep/service.ts'
import { type ApiHandler, createApiHandler } from '../shared/api.ts'
import { bodyText } from '../shared/body-text.ts'
import type { HandlerConfig } from '../shared/config.ts'
import { documents } from '../shared/documents.ts'
import { largeAnswer } from '../shared/large-answer.ts'
import { stageAction } from '../shared/stage-action.ts'
import type { SweepHandlerConfig } from '../shared/sweep-config.ts'
import { blobActions } from './blob-actions.ts'
import { checkpointActions } from './checkpoint-actions.ts'
import { BASE, ROUTES } from './routes.ts'
import type { Services } from './service.ts'
import { sweepActions } from './sweep-actions.ts'
import { writerActions } from './writer-actions.ts'

/** The checkpoints service: checkpoints, leases, blobs, sweeps. */
export function createHandler(config: SweepHandlerConfig): ApiHandler {
  return createServiceHandler(config, {
    checkpoints: ({ scope }) => createCheckpointStore({ ...config, scope }),
    blobs: ({ scope }) => createBlobStore({ ...config, scope }),
    sweeps: ({ scope }) => createSweepService({ ...config, scope }),
  })
}

/** The same over any stores. */
export function createServiceHandler(config: Pick<HandlerConfig, 's3' | 'bucketName'>, services: Services): ApiHandler {
  return createApiHandler({
    routes: ROUTES,
    actions: {
      ...checkpointActions(services),
      ...writerActions(services),
      ...blobActions(services),
      ...sweepActions(services),
      stageUpload: stageAction(config),
    },
    body: [
      bodyText({ upload: `${BASE}/uploads` }),
      documents(config.s3, config.bucketName),
      largeAnswer(config.s3, config.bucketName),
    ],
  })
}
