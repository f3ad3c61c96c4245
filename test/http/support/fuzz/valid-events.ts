import type { APIGatewayProxyEvent } from 'aws-lambda'
import { proxyEvent } from '../events.ts'
import type { KnownValues } from './known-values.ts'
import { mutateEvent, mutateText, mutateValue } from './mutations.ts'
import type { Random } from './random.ts'
import { type Schema, SchemaValues } from './schema-values.ts'

interface Parameter {
  $ref?: string
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
}

interface DescribedOperation {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema?: Schema }> }
}

/** The description of the API, as far as requests are made of it. */
export interface Description {
  paths: Record<string, Record<string, DescribedOperation>>
  components: { schemas: Record<string, Schema> }
}

export interface Target {
  method: string
  resource: string
  operation: DescribedOperation
}

/** All operations of the description. */
export function targetsOf({ paths }: Description): Target[] {
  return Object.entries(paths).flatMap(([resource, methods]) =>
    Object.entries(methods)
      .filter(([method]) => ['get', 'post', 'put', 'delete'].includes(method))
      .map(([method, operation]) => ({ method: method.toUpperCase(), resource, operation })),
  )
}

/** Makes events of requests, the valid ones and those that something is wrong with. */
export class EventMaker {
  readonly #random: Random
  readonly #known: KnownValues
  readonly #values: SchemaValues
  #fresh = 0

  constructor(description: Description, random: Random, known: KnownValues) {
    this.#random = random
    this.#known = known
    this.#values = new SchemaValues(description.components.schemas, random, known)
  }

  /** An event for the operation; with so many things changed about it. */
  make({ method, resource, operation }: Target, mutations: number): APIGatewayProxyEvent {
    const random = this.#random
    const inBody = mutations > 0 && operation.requestBody ? random.below(mutations + 1) : 0
    const parameters = (operation.parameters ?? []).filter(({ $ref }) => $ref === undefined)
    const used = parameters.filter(({ in: place, required }) => place === 'path' || required || random.chance(0.3))
    const valuesIn = (place: Parameter['in']) =>
      used
        .filter((parameter) => parameter.in === place)
        .map(({ name, schema }) => [name, String(this.#values.valueOf(schema, name))] as const)
    const known = random.chance(0.5) ? this.#known.pathOf(resource) : undefined
    const pathParameters = known ?? Object.fromEntries(valuesIn('path'))
    const query = Object.fromEntries(valuesIn('query').map(([name, value]) => [name, [value]]))
    const { contentType, body } = this.#body(operation, inBody)
    const event: APIGatewayProxyEvent = proxyEvent({
      method,
      resource,
      path: resource.replaceAll(/\{(\w+)\}/g, (_braces, name: string) => pathParameters[name] ?? ''),
      ...(Object.keys(pathParameters).length > 0 && { pathParameters }),
      ...(Object.keys(query).length > 0 && { query }),
      headers: { 'content-type': contentType, ...Object.fromEntries(valuesIn('header')) },
      body,
    })
    for (let count = inBody; count < mutations; count += 1) mutateEvent(event, random)
    return event
  }

  #body(
    { requestBody }: DescribedOperation,
    mutations: number,
  ): { contentType?: string; body: string | Uint8Array | null } {
    const random = this.#random
    const [contentType, { schema = {} } = {}] = Object.entries(requestBody?.content ?? {})[0] ?? []
    if (!requestBody || contentType === undefined) return { body: null }
    if (contentType === '*/*') return { contentType: 'text/plain', body: Buffer.alloc(random.below(40), 'bytes') }
    if (contentType === 'multipart/form-data') return this.#form(mutations)
    let value = this.#linked(this.#values.valueOf(schema))
    for (let count = 0; count < mutations; count += 1) if (random.chance(0.75)) value = mutateValue(value, random)
    const text = JSON.stringify(value) ?? ''
    return { contentType, body: mutations > 0 && random.chance(0.25) ? mutateText(text, random) : text }
  }

  #form(mutations: number): { contentType: string; body: string | Uint8Array } {
    const random = this.#random
    const field = (name: string, value: string) =>
      random.chance(0.4) ? `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n` : ''
    const fields = field('scope', 'user') + field('origin', 'sandbox')
    const file = `--b\r\ncontent-disposition: form-data; name="file"; filename="${random.pick(['a.txt', '報告', 'a%22b'])}"\r\n`
    const text = `${fields}${file}content-type: text/plain\r\n\r\nbytes\r\n--b--\r\n`
    const contentType = 'multipart/form-data; boundary=b'
    return { contentType, body: mutations > 0 ? mutateText(text, random) : text }
  }

  /** With a lease that is held, and the head of its thread, where a body has a place for them. */
  #linked(value: unknown): unknown {
    const lease = this.#known.lease(this.#random)
    if (!lease || typeof value !== 'object' || value === null || !('writer' in value)) return value
    const { writer, headId } = lease
    const body: Record<string, unknown> = { ...value, writer }
    if ('thread_id' in body) body.thread_id = writer.thread_id
    if ('checkpoint_id' in body) body.checkpoint_id = headId ?? 'none'
    if ('source_thread_id' in body) Object.assign(body, this.#source())
    if ('destination_thread_id' in body) body.destination_thread_id = writer.thread_id
    if ('destination_checkpoint_id' in body) body.destination_checkpoint_id = this.#freshId()
    if (typeof body.checkpoint === 'object' && body.checkpoint !== null) {
      const own = { id: this.#freshId(), threadId: writer.thread_id, parentCheckpointId: headId }
      body.checkpoint = { ...body.checkpoint, ...own, files: [], artifacts: [] }
      body.expected_head_id = headId
    }
    return body
  }

  /** A thread to fork from. */
  #source(): Record<string, unknown> {
    const lease = this.#known.lease(this.#random)
    if (!lease || lease.headId === null) return {}
    return { source_thread_id: lease.writer.thread_id, source_checkpoint_id: lease.headId }
  }

  #freshId(): string {
    this.#fresh += 1
    return `checkpoint-${this.#fresh}`
  }
}
