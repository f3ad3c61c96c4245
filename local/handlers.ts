import { createHandler as createAnthropic } from '../lambdas/anthropic/handler.ts'
import { type AuthorizerConfig, createHandler as createAuthorizer } from '../lambdas/authorizer/handler.ts'
import { createHandler as createCheckpoints } from '../lambdas/checkpoints/handler.ts'
import { createHandler as createFileContent } from '../lambdas/file-content/handler.ts'
import { createHandler as createFiles } from '../lambdas/files/handler.ts'
import { createHandler as createInstances } from '../lambdas/instances/handler.ts'
import { createHandler as createKeys } from '../lambdas/keys/handler.ts'
import type { MemoryHandlerConfig } from '../lambdas/memory/config.ts'
import { createHandler as createMemory } from '../lambdas/memory/handler.ts'
import { createHandler as createOpenapi } from '../lambdas/openapi/handler.ts'
import { createHandler as createProjectMd } from '../lambdas/project-md/handler.ts'
import type { SandboxHandlerConfig } from '../lambdas/sandboxes/config.ts'
import { createHandler as createSandboxes } from '../lambdas/sandboxes/handler.ts'
import type { BundlesRequester } from '../lambdas/shared/bundles-config.ts'
import type { FilesHandlerConfig } from '../lambdas/shared/files-config.ts'
import type { SweepHandlerConfig } from '../lambdas/shared/sweep-config.ts'
import type { LambdaHandler, LambdaStreamHandler } from './gateway/index.ts'

type LocalConfig = SweepHandlerConfig &
  AuthorizerConfig &
  MemoryHandlerConfig &
  SandboxHandlerConfig &
  BundlesRequester &
  FilesHandlerConfig

/** The handlers of the API's functions, by the names of their folders. */
export function createHandlers(config: LocalConfig): Record<string, LambdaHandler> {
  return {
    authorizer: createAuthorizer(config),
    checkpoints: createCheckpoints(config),
    files: createFiles(config),
    instances: createInstances(config),
    keys: createKeys(config),
    memory: createMemory(config),
    openapi: createOpenapi(),
    sandboxes: createSandboxes(config),
  }
}

/** The handlers of those functions whose answers are streamed. */
export function createStreamHandlers(config: LocalConfig): Record<string, LambdaStreamHandler> {
  return {
    anthropic: createAnthropic(config),
    'file-content': createFileContent(config),
    'project-md': createProjectMd(config),
  }
}
