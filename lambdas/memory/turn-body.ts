import { InvalidInputError } from '../../src/errors.ts'
import { compactJson, jsonMembers } from '../../src/json/source.ts'
import { checkNamesOnce, parseJson } from '../shared/body-text.ts'

type JsonType = 'string' | 'number' | 'object'

/** The types that fields of a meta have where they are there and not null. */
const metaTypes: Readonly<Record<string, JsonType>> = {
  agent_id: 'string',
  model: 'string',
  job_id: 'string',
  sandbox_id: 'string',
  commit: 'string',
  exit_code: 'number',
  started_at: 'string',
  ended_at: 'string',
  tokens: 'object',
  cost: 'number',
  claude_session_id: 'string',
}
const tokenTypes: Readonly<Record<string, JsonType>> = { input: 'number', output: 'number' }

/**
 * What the body of a PUT of a turn says.
 * @returns the meta as compact JSON text, which keeps what a parsed value would lose
 * @throws InvalidInputError naming the field
 */
export function readTurn(text: string): { meta: string; summary: string } {
  const body = parseJson(text)
  if (!isObject(body)) throw new InvalidInputError('body', 'The body must be a JSON object.')
  checkNamesOnce(text)
  for (const name of Object.keys(body)) {
    if (name !== 'meta' && name !== 'summary_md') throw new InvalidInputError(name, `${name} is not a known field.`)
  }
  const summary = readSummary(body)
  if (!Object.hasOwn(body, 'meta')) return { meta: '{}', summary }
  checkTypes(body.meta)
  const member = jsonMembers(text).find(({ name }) => name === 'meta')
  return { meta: compactJson(text, member?.value), summary }
}

function readSummary(body: Record<string, unknown>): string {
  const summary = Object.hasOwn(body, 'summary_md') ? body.summary_md : ''
  if (typeof summary !== 'string') throw new InvalidInputError('summary_md', 'summary_md must be a string.')
  if (summary.isWellFormed()) return summary
  throw new InvalidInputError('summary_md', 'summary_md must be well-formed Unicode: it has half a surrogate pair.')
}

function checkTypes(meta: unknown): void {
  if (!isObject(meta)) throw new InvalidInputError('meta', 'meta must be an object.')
  checkMembers('meta', meta, metaTypes)
  if (isObject(meta.tokens)) checkMembers('meta.tokens', meta.tokens, tokenTypes)
}

function checkMembers(place: string, object: Record<string, unknown>, types: Readonly<Record<string, JsonType>>): void {
  for (const [name, type] of Object.entries(types)) {
    const value = Object.hasOwn(object, name) ? object[name] : null
    if (value === null || (type === 'object' ? isObject(value) : typeof value === type)) continue
    const article = type === 'object' ? 'an' : 'a'
    throw new InvalidInputError(`${place}.${name}`, `${place}.${name} must be ${article} ${type} or null.`)
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
