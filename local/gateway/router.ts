import type { ApiModel, MethodModel, ResourceModel } from './model.ts'

export interface Match {
  resource: ResourceModel
  /** Percent-encoded, as received. */
  pathParameters: Record<string, string>
}

/**
 * Finds the resource of a path. As in a REST API, segments are compared as received, one slash at the end does not
 * matter, and a literal segment goes before a parameter.
 */
export function createRouter(api: ApiModel): (path: string) => Match | undefined {
  const candidates = api.resources
    .map((resource) => ({ resource, segments: segmentsOf(resource.path) }))
    .toSorted((a, b) => specificity(b.segments).localeCompare(specificity(a.segments)))
  return (path) => {
    const received = segmentsOf(path)
    for (const { resource, segments } of candidates) {
      const pathParameters = matchSegments(segments, received)
      if (pathParameters) return { resource, pathParameters }
    }
    return undefined
  }
}

/** The method of a resource that answers, or none. */
export function methodOf(resource: ResourceModel, httpMethod: string): MethodModel | undefined {
  return resource.methods.get(httpMethod) ?? resource.methods.get('ANY')
}

function segmentsOf(path: string): string[] {
  const segments = path.split('/').slice(1)
  if (segments.at(-1) === '') segments.pop()
  return segments
}

/** Sorts literals before parameters, and those before greedy ones, segment by segment. */
function specificity(segments: string[]): string {
  return segments.map((segment) => (segment.endsWith('+}') ? '0' : segment.startsWith('{') ? '1' : '2')).join('')
}

function matchSegments(segments: string[], received: string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const value = received[index]
    if (value === undefined) return undefined
    if (segment.endsWith('+}')) {
      parameters[segment.slice(1, -2)] = received.slice(index).join('/')
      return parameters
    }
    if (segment.startsWith('{') && value !== '') parameters[segment.slice(1, -1)] = value
    else if (segment !== value) return undefined
  }
  return segments.length === received.length ? parameters : undefined
}
