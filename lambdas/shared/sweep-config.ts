import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import type { AnthropicConnection } from '../../src/anthropic/connection.ts'
import { ENVIRONMENT } from '../../src/environment.ts'
import type { SweepEvent } from '../../src/sweep/run.ts'
import { configFromEnvironment, type HandlerConfig, required } from './config.ts'
import { anthropicFromEnvironment } from './files-config.ts'

/** What a function needs that has sweeps run. */
export interface SweepHandlerConfig extends HandlerConfig {
  /** Where files are that are kept with Anthropic. */
  anthropic?: AnthropicConnection | undefined
  /** How long an expired or destroyed sandbox is kept, in seconds. Default: 30 days. */
  sandboxRetentionSec?: number | undefined
  /** Has the sweep function called, and does not wait for it. */
  startSweep(event: SweepEvent): Promise<void>
}

/** @throws Error naming the variable that is not set. */
export function sweepConfigFromEnvironment(environment: NodeJS.ProcessEnv): SweepHandlerConfig {
  const lambda = new LambdaClient({})
  const FunctionName = required(environment, ENVIRONMENT.sweepFunction)
  const config = configFromEnvironment(environment)
  return {
    ...config,
    anthropic: anthropicFromEnvironment(environment),
    async startSweep(event) {
      const Payload = JSON.stringify(event)
      await lambda.send(new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload }))
    },
  }
}
