import { Duration } from 'aws-cdk-lib'
import { INTEGRATION_TIMEOUT, STREAM_TIMEOUT } from './api.ts'
import type { ServiceFunctionProps } from './service-function.ts'

type FunctionSize = Pick<ServiceFunctionProps, 'memorySize' | 'timeout' | 'nodeOptions'>

// Of what passes by little stays: without these V8 lets 60 to 90 MB of it pile up before it looks.
const NURSERY = '--max-semi-space-size=2'
const HEAP = '--max-old-space-size=256'

/** What each kind of function gets. Memory brings CPU with it: 1,769 MB is one core. */
export const sizes = {
  // It reads one item, and may ask the identity provider; a request that waits longer would have no time left for its
  // service.
  authorizer: { memorySize: 512, timeout: Duration.seconds(10) },
  bundles: { memorySize: 1_769, timeout: Duration.minutes(15) },
  checkpoints: { memorySize: 1_769, timeout: INTEGRATION_TIMEOUT },
  document: { memorySize: 512, timeout: STREAM_TIMEOUT, nodeOptions: `${NURSERY} ${HEAP}` },
  // It holds a file of 32 MiB three times when it goes on to Anthropic.
  files: { memorySize: 1_024, timeout: INTEGRATION_TIMEOUT },
  // What it waits for is Anthropic; a whole core makes the first byte come soon. An answer that is no stream is held.
  proxy: { memorySize: 1_769, timeout: STREAM_TIMEOUT, nodeOptions: NURSERY },
  // It has its answer at hand.
  small: { memorySize: 256, timeout: INTEGRATION_TIMEOUT },
  standard: { memorySize: 512, timeout: INTEGRATION_TIMEOUT },
  streaming: { memorySize: 512, timeout: STREAM_TIMEOUT },
  sweep: { memorySize: 1_024, timeout: Duration.minutes(15), nodeOptions: `${NURSERY} ${HEAP}` },
} satisfies Record<string, FunctionSize>
