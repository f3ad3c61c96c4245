import { createHash } from 'node:crypto'
import type { KnownValues } from './known-values.ts'
import type { Random } from './random.ts'

/** JSON Schema as far as the description of the API uses it. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  minItems?: number
  maxItems?: number
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  not?: unknown
}

/** The bytes of the blob that there is. */
export const BLOB = 'bytes'

const HEX = createHash('sha256').update(BLOB).digest('hex')
const texts = [
  ...[
    't',
    'thread-1',
    'task-1',
    '1',
    '7',
    '12',
    '0001',
    'a.txt',
    'src/app.ts',
    'link',
    'profile-1',
    '*',
    'acme',
    'web',
  ],
  ...[HEX, `sandbox-files/sha256/${HEX}`, `sandbox-artifacts/sha256/${HEX}`, 'sandbox-files/sha256/', 'true', 'false'],
  ...['00000000-0000-4000-8000-000000000000', '2026-01-01T00:00:00.000Z', 'text/plain', 'é€😀', 'x'.repeat(300), ''],
]
const numbers = [0, 1, 2, 12, 420, 60_000, 1_764_504_000_000, 5_000_000, 0.5, -1]

/** Makes values that a schema allows, with names that answers have told where it can. */
export class SchemaValues {
  readonly #components: Readonly<Record<string, Schema>>
  readonly #random: Random
  readonly #known: KnownValues

  constructor(components: Readonly<Record<string, Schema>>, random: Random, known: KnownValues) {
    this.#components = components
    this.#random = random
    this.#known = known
  }

  /** @param name of the field that the value is for */
  valueOf(given: Schema, name = '', depth = 0): unknown {
    const random = this.#random
    const schema = this.resolve(given)
    if (schema.const !== undefined) return schema.const
    if (schema.enum) return random.pick(schema.enum)
    const choices = schema.anyOf ?? schema.oneOf
    if (choices) return this.valueOf(random.pick(choices), name, depth)
    const [all] = schema.allOf ?? []
    if (all) return this.valueOf(all, name, depth)
    const types = [schema.type ?? (schema.properties ? 'object' : 'any')].flat()
    const type = random.pick(types)
    if (type === 'object') return this.#object(schema, depth)
    if (type === 'array') return this.#array(schema, name, depth)
    if (type === 'string') return this.#text(schema, name)
    if (type === 'integer' || type === 'number') return this.#number(schema, name, type === 'integer')
    if (type === 'boolean') return random.chance(0.5)
    if (type === 'null') return null
    return random.pick<unknown>(['any', 0, null, [], { role: 'user', content: 'Go on.' }])
  }

  resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema
    const name = schema.$ref.split('/').at(-1) ?? ''
    const found = this.#components[name]
    if (!found) throw new Error(`There is no component ${schema.$ref}.`)
    return this.resolve(found)
  }

  #object({ properties = {}, required = [], additionalProperties }: Schema, depth: number): Record<string, unknown> {
    const random = this.#random
    const made: Record<string, unknown> = {}
    for (const [name, schema] of Object.entries(properties)) {
      if (schema.not || (!required.includes(name) && !random.chance(0.4))) continue
      made[name] = this.valueOf(schema, name, depth + 1)
    }
    const extra = typeof additionalProperties === 'object' ? additionalProperties : undefined
    if (extra && random.chance(0.3)) made[random.pick(['a', 'extra', 'é'])] = this.valueOf(extra, '', depth + 1)
    return made
  }

  #array({ items = {}, minItems = 0, maxItems = 3 }: Schema, name: string, depth: number): unknown[] {
    const most = Math.min(maxItems, Math.max(minItems, depth > 4 ? 0 : 3))
    const length = minItems + this.#random.below(most - minItems + 1)
    return Array.from({ length }, () => this.valueOf(items, name, depth + 1))
  }

  #text({ pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Schema, name: string): string {
    const random = this.#random
    const rule = pattern === undefined ? undefined : new RegExp(pattern, 'u')
    const fits = (text: string) => text.length >= minLength && text.length <= maxLength && (rule?.test(text) ?? true)
    const known = random.chance(0.8) ? this.#known.valueOf(name, random) : undefined
    if (known !== undefined && fits(String(known))) return String(known)
    const fitting = texts.filter(fits)
    return fitting.length === 0 ? 'a'.repeat(Math.max(1, minLength)) : random.pick(fitting)
  }

  #number({ minimum = -1, maximum = 2 ** 53 }: Schema, name: string, whole: boolean): number {
    const random = this.#random
    const fits = (value: number) => value >= minimum && value <= maximum && (!whole || Number.isInteger(value))
    const known = random.chance(0.6) ? this.#known.valueOf(name, random) : undefined
    if (typeof known === 'number' && fits(known)) return known
    const fitting = numbers.filter(fits)
    return fitting.length === 0 ? minimum : random.pick(fitting)
  }
}
