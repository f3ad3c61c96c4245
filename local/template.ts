import { App } from 'aws-cdk-lib'
import { SandkeepStack } from '../lib/index.ts'
import type { Template } from './gateway/index.ts'

/** The template that a deployment would use, without the bundles of its functions. Takes a second or two. */
export function synthesizeTemplate(): Template {
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] }, analyticsReporting: false })
  const stack = new SandkeepStack(app, 'Sandkeep')
  return app.synth().getStackByName(stack.stackName).template as Template
}
