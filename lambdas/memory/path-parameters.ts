import { InvalidInputError } from '../../src/errors.ts'
import type { ApiMiddleware, ApiRequest } from '../shared/request.ts'

const rules: Readonly<Record<string, { pattern: RegExp; rule: string }>> = {
  task_id: {
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    rule: 'must be 1 to 128 characters of A-Z a-z 0-9 . _ -, the first a letter or a digit',
  },
  turn: { pattern: /^\d{1,4}$/, rule: 'must be a whole number from 0 to 9999' },
  name: {
    pattern: /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/,
    rule: 'must be 1 to 128 characters of A-Z a-z 0-9 . _ -, and not . or ..',
  },
  upload_id: { pattern: /^[0-9a-f-]{36}$/, rule: 'must be the id that the start of an upload answered' },
}

/** Holds the parameters of the path to their rules. @throws InvalidInputError naming the parameter */
export function pathParameters(): ApiMiddleware {
  const pathParametersBefore = ({ event }: ApiRequest): void => {
    for (const [parameter, value] of Object.entries(event.call?.params ?? {})) {
      const known = rules[parameter]
      if (known && !known.pattern.test(value)) throw new InvalidInputError(parameter, `${parameter} ${known.rule}.`)
    }
  }
  return { before: pathParametersBefore }
}

/** What the path of a turn names. */
export function turnOf({ task_id = '', turn }: Readonly<Record<string, string>>): { taskId: string; turn: number } {
  return { taskId: task_id, turn: Number(turn) }
}

/** What the path of an artifact names. */
export function artifactOf(params: Readonly<Record<string, string>>) {
  return { ...turnOf(params), name: params.name ?? '' }
}
