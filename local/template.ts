import { App } from 'aws-cdk-lib'
import { SandkeepStack } from '../lib/index.ts'
import { slotsFromEnvironment, type ThrottleSlots } from '../src/keys/throttle-slots.ts'
import type { Template } from './gateway/index.ts'
import { functionNamed } from './gateway/read-api.ts'

/** On one machine any page may call. */
export const LOCAL_CORS_ORIGINS = ['*']

let synthesized: Template | undefined

/**
 * The template that a deployment would use, whose API pages of any origin may call, without the bundles of its
 * functions. Takes a second or two the first time; the same object comes back after that, so it is not to be changed.
 */
export function synthesizeTemplate(): Template {
  synthesized ??= synthesize()
  return synthesized
}

/** The slots that the template gives its authorizer. */
export function slotsOf(template: Template): ThrottleSlots | undefined {
  return slotsFromEnvironment(functionNamed(template, 'authorizer').environment)
}

function synthesize(): Template {
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] }, analyticsReporting: false })
  const stack = new SandkeepStack(app, 'Sandkeep', { corsOrigins: LOCAL_CORS_ORIGINS })
  return app.synth().getStackByName(stack.stackName).template as Template
}
