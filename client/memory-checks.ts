import { SandboxCheckpointInvalidEntryError } from '../src/checkpoints/errors.ts'
import { checkJsonValue } from '../src/checkpoints/validate-json.ts'
import { InvalidInputError, PayloadTooLargeError } from '../src/errors.ts'
import { compactJson } from '../src/json/source.ts'
import { stringifyJson } from '../src/json.ts'
import { MAX_META_BYTES, MAX_SUMMARY_BYTES } from '../src/limits.ts'
import type { PutTurnInput } from './memory-types.ts'

/** The body of a PUT of a turn. @throws InvalidInputError, PayloadTooLargeError naming the option */
export function turnBody({ meta, metaJson, summaryMd = '' }: PutTurnInput): string {
  if (meta !== undefined && metaJson !== undefined) {
    throw new InvalidInputError('metaJson', 'meta and metaJson are one and the same: give one of them.')
  }
  if (typeof summaryMd !== 'string' || !summaryMd.isWellFormed()) {
    throw new InvalidInputError('summaryMd', 'summaryMd must be a string of well-formed Unicode.')
  }
  checkLength('summaryMd', summaryMd, MAX_SUMMARY_BYTES)
  const text = metaJson === undefined ? objectText(meta ?? {}) : parsedText(metaJson)
  checkLength(metaJson === undefined ? 'meta' : 'metaJson', text, MAX_META_BYTES)
  return `{"meta":${text},"summary_md":${JSON.stringify(summaryMd)}}`
}

function objectText(meta: object): string {
  if (Array.isArray(meta)) throw new InvalidInputError('meta', 'meta must be an object.')
  try {
    checkJsonValue(meta, 'meta')
  } catch (cause) {
    if (!(cause instanceof SandboxCheckpointInvalidEntryError)) throw cause
    throw new InvalidInputError('meta', cause.message, { cause })
  }
  return stringifyJson(meta)
}

function parsedText(metaJson: string): string {
  let value: unknown
  try {
    value = JSON.parse(metaJson)
  } catch (cause) {
    throw new InvalidInputError('metaJson', 'metaJson is not valid JSON.', { cause })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return compactJson(metaJson)
  throw new InvalidInputError('metaJson', 'metaJson must be the text of a JSON object.')
}

function checkLength(field: string, text: string, limit: number): void {
  const length = Buffer.byteLength(text)
  if (length > limit) {
    throw new PayloadTooLargeError(`${field} has ${length} bytes; it may have at most ${limit}.`, { field })
  }
}
