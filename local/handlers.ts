import { type AuthorizerConfig, createHandler as createAuthorizer } from '../lambdas/authorizer/handler.ts'
import { createHandler as createCheckpoints } from '../lambdas/checkpoints/handler.ts'
import { createHandler as createInstances } from '../lambdas/instances/handler.ts'
import { createHandler as createKeys } from '../lambdas/keys/handler.ts'
import type { SandboxHandlerConfig } from '../lambdas/sandboxes/config.ts'
import { createHandler as createSandboxes } from '../lambdas/sandboxes/handler.ts'
import type { SweepHandlerConfig } from '../lambdas/shared/sweep-config.ts'
import type { LambdaHandler } from './gateway/index.ts'

/** The handlers of the API's functions, by the names of their folders. */
export function createHandlers(
  config: SweepHandlerConfig & AuthorizerConfig & SandboxHandlerConfig,
): Record<string, LambdaHandler> {
  return {
    authorizer: createAuthorizer(config),
    checkpoints: createCheckpoints(config),
    instances: createInstances(config),
    keys: createKeys(config),
    sandboxes: createSandboxes(config),
  }
}
