/** Where the value of a mapped header comes from. */
export type HeaderSource = { kind: 'requestId' } | { kind: 'text'; text: string }

/**
 * The header mappings of a response, by header name.
 * @param prefix what comes before the header's name, such as `gatewayresponse.header.`
 * @throws Error on a mapping other than a constant or the request's id
 */
export function readHeaderMappings(mappings: Record<string, unknown>, prefix: string): Record<string, HeaderSource> {
  const entries = Object.entries(mappings).map(([target, source]) => {
    if (!target.startsWith(prefix)) throw new Error(`The gateway cannot map a response's ${target}.`)
    return [target.slice(prefix.length), readHeaderSource(source)]
  })
  return Object.fromEntries(entries)
}

function readHeaderSource(source: unknown): HeaderSource {
  if (source === 'context.requestId') return { kind: 'requestId' }
  const constant = typeof source === 'string' ? /^'(?<text>[^']*)'$/.exec(source)?.groups?.text : undefined
  if (constant === undefined) throw new Error(`The gateway cannot map a response header from ${String(source)}.`)
  return { kind: 'text', text: constant }
}

/**
 * A mapping template without variables and directives, which are not run here.
 * @throws Error on any other
 */
export function readConstantTemplate(template: unknown): string {
  if (typeof template !== 'string' || /[$#]/.test(template)) {
    throw new Error(`The gateway takes mapping templates without variables only, and not ${String(template)}.`)
  }
  return template
}

/**
 * The mapping template of a gateway response: of variables it may have what the authorizer said.
 * @throws Error on any other
 */
export function readResponseTemplate(template: unknown): string {
  const constant = typeof template === 'string' ? template.replaceAll(authorizerVariable, '') : template
  readConstantTemplate(constant)
  return String(template)
}

const authorizerVariable = /\$context\.authorizer\.(\w+)/g

/** The body that such a template makes. As in API Gateway a variable without a value is an empty text. */
export function fillResponseTemplate(template: string, authorizer: Readonly<Record<string, unknown>>): string {
  return template.replaceAll(authorizerVariable, (_variable, name: string) => String(authorizer[name] ?? ''))
}

/** The headers with their values for one request. */
export function mapHeaders(mappings: Record<string, HeaderSource>, requestId: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(mappings).map(([name, source]) => [name, source.kind === 'text' ? source.text : requestId]),
  )
}
