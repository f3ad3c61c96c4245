import { App } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { SandkeepStack, type SandkeepStackProps } from '../../lib/index.ts'

let standard: Template | undefined

/** The template of a stack with the given props, without bundles. Without props it is the same object every time. */
export function synth(props?: SandkeepStackProps): Template {
  if (props) return make(props)
  standard ??= make({})
  return standard
}

function make(props: SandkeepStackProps): Template {
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] }, analyticsReporting: false })
  return Template.fromStack(new SandkeepStack(app, 'Sandkeep', props))
}

export interface Resource {
  Type: string
  // biome-ignore lint/suspicious/noExplicitAny: the properties of CloudFormation's resources differ, and are read as such.
  Properties: any
  Metadata: Record<string, unknown>
  DeletionPolicy?: string
}

/** The resources of a type with their logical ids. */
export function resources(template: Template, type: string): [id: string, resource: Resource][] {
  return Object.entries(template.findResources(type)) as [string, Resource][]
}

/** The only resource of its type. */
export function only(template: Template, type: string): Resource {
  const [found, ...others] = resources(template, type)
  if (!found || others.length > 0) throw new Error(`The template must have one ${type}.`)
  return found[1]
}
