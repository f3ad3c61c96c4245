import { InvalidInputError } from '../errors.ts'

const taskIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const namePattern = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/

/** The highest turn. */
const MAX_TURN = 9_999
/** Characters of a content type. */
const MAX_CONTENT_TYPE_LENGTH = 256
const contentTypePattern = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** @returns the id. @throws InvalidInputError */
export function checkTaskId(taskId: unknown, field = 'task_id'): string {
  if (typeof taskId === 'string' && taskIdPattern.test(taskId)) return taskId
  throw new InvalidInputError(
    field,
    `${field} must be 1 to 128 characters of A-Z a-z 0-9 . _ -, the first a letter or a digit.`,
  )
}

/** @returns the turn. @throws InvalidInputError */
export function checkTurn(turn: unknown, field = 'turn'): number {
  if (typeof turn === 'number' && Number.isInteger(turn) && turn >= 0 && turn <= MAX_TURN) return turn
  throw new InvalidInputError(field, `${field} must be a whole number from 0 to ${MAX_TURN}.`)
}

/** @returns the name. @throws InvalidInputError */
export function checkArtifactName(name: unknown, field = 'name'): string {
  if (typeof name === 'string' && namePattern.test(name)) return name
  throw new InvalidInputError(field, `${field} must be 1 to 128 characters of A-Z a-z 0-9 . _ -, and not "." or "..".`)
}

/**
 * Holds a content type to what can stand in the headers of requests, answers and objects alike.
 * @returns the type. @throws InvalidInputError
 */
export function checkContentType(type: unknown, field = 'content_type'): string {
  if (typeof type === 'string' && type.length <= MAX_CONTENT_TYPE_LENGTH && contentTypePattern.test(type)) return type
  throw new InvalidInputError(
    field,
    `${field} must be 1 to ${MAX_CONTENT_TYPE_LENGTH} visible characters of ASCII, with spaces between them.`,
  )
}
