import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { ENVIRONMENT } from '../../src/environment.ts'
import type { SnapshotName } from '../../src/sandboxes/types.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { required } from './config.ts'

/** What one call of the bundles function is to do: to build the bundles of a snapshot. */
export interface BundlesEvent extends SnapshotName {
  scope: Scope
}

/** What a function needs that has bundles built. */
export interface BundlesRequester {
  /** Has the bundles function called, and does not wait for it. */
  requestBundles(event: BundlesEvent): Promise<void>
}

/** @throws Error naming the variable that is not set. */
export function bundlesRequesterFromEnvironment(environment: NodeJS.ProcessEnv): BundlesRequester {
  const lambda = new LambdaClient({})
  const FunctionName = required(environment, ENVIRONMENT.bundlesFunction)
  return {
    async requestBundles(event) {
      const Payload = JSON.stringify(event)
      await lambda.send(new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload }))
    },
  }
}
