import { ENVIRONMENT } from '../../src/environment.ts'
import { sandboxRetentionSec } from '../sandboxes/config.ts'
import { sweepConfigFromEnvironment } from '../shared/sweep-config.ts'
import { createHandler } from './handler.ts'
import { createTelemetry } from './telemetry.ts'

// It goes on in another call of itself, and Lambda tells a function its own name.
const environment = { ...process.env, [ENVIRONMENT.sweepFunction]: process.env.AWS_LAMBDA_FUNCTION_NAME }

const config = { ...sweepConfigFromEnvironment(environment), sandboxRetentionSec: sandboxRetentionSec(environment) }

export const handler = createHandler(config, createTelemetry())
