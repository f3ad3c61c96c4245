import { createBlobStore } from '../../src/blobs/store.ts'
import { createBundleStore } from '../../src/bundles/store.ts'
import { createSandboxStore } from '../../src/sandboxes/store.ts'
import { type ApiHandler, createApiHandler } from '../shared/api.ts'
import { bodyText } from '../shared/body-text.ts'
import type { BundlesRequester } from '../shared/bundles-config.ts'
import type { HandlerConfig } from '../shared/config.ts'
import { documents } from '../shared/documents.ts'
import { largeAnswer } from '../shared/large-answer.ts'
import { stageAction } from '../shared/stage-action.ts'
import { type Sandboxes, sandboxActions } from './actions.ts'
import { bundledStore } from './bundled-store.ts'
import type { SandboxHandlerConfig } from './config.ts'
import { type Downloads, downloadActions } from './download-actions.ts'
import { BASE, ROUTES } from './routes.ts'

/** The sandboxes service: sandboxes, their states, and the snapshots of their workspaces. */
export function createHandler(config: SandboxHandlerConfig & BundlesRequester): ApiHandler {
  const { requestBundles } = config
  return createServiceHandler(
    config,
    ({ scope }) => bundledStore(createSandboxStore({ ...config, scope }), scope, config),
    {
      requestBundles,
      blobs: ({ scope }) => createBlobStore({ ...config, scope }),
      bundles: ({ scope }) => createBundleStore({ ...config, scope }),
    },
  )
}

/** The same over any stores. */
export function createServiceHandler(
  config: Pick<HandlerConfig, 's3' | 'bucketName'>,
  sandboxes: Sandboxes,
  downloads: Downloads,
): ApiHandler {
  return createApiHandler({
    routes: ROUTES,
    actions: {
      ...sandboxActions(sandboxes),
      ...downloadActions(sandboxes, downloads),
      stageUpload: stageAction(config),
    },
    body: [
      bodyText({ upload: `${BASE}/uploads`, emptyIsObject: true }),
      documents(config.s3, config.bucketName),
      largeAnswer(config.s3, config.bucketName),
    ],
  })
}
