/** A CloudFormation template, as far as it is read here. */
export interface Template {
  Resources: Record<string, TemplateResource>
}

export interface TemplateResource {
  Type: string
  Properties?: Record<string, unknown>
  Metadata?: Record<string, unknown>
}

/** The resources of one type with their logical ids. */
export function resourcesOfType(template: Template, type: string): [id: string, resource: TemplateResource][] {
  return Object.entries(template.Resources).filter(([, resource]) => resource.Type === type)
}

/** The logical id that a `Ref` or `Fn::GetAtt` names. */
export function referencedId(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined
  if (typeof value.Ref === 'string') return value.Ref
  const attribute = value['Fn::GetAtt']
  return Array.isArray(attribute) && typeof attribute[0] === 'string' ? attribute[0] : undefined
}

/** A string property. @throws Error naming the property when it is something else */
export function stringProperty(resource: TemplateResource, name: string): string {
  const value = resource.Properties?.[name]
  if (typeof value !== 'string') throw new Error(`${resource.Type}: the property ${name} must be a string.`)
  return value
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}
