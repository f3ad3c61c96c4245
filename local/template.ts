import { App } from 'aws-cdk-lib'
import { SandkeepStack } from '../lib/index.ts'
import type { Template } from './gateway/index.ts'

let synthesized: Template | undefined

/**
 * The template that a deployment would use, without the bundles of its functions. Takes a second or two the first time;
 * the same object comes back after that, so it is not to be changed.
 */
export function synthesizeTemplate(): Template {
  synthesized ??= synthesize()
  return synthesized
}

function synthesize(): Template {
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] }, analyticsReporting: false })
  const stack = new SandkeepStack(app, 'Sandkeep')
  return app.synth().getStackByName(stack.stackName).template as Template
}
