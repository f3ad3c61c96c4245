import type { APIGatewayProxyResult } from 'aws-lambda'
import type * as z from 'zod'
import { InvalidInputError } from '../../src/errors.ts'
import type { Call } from './request.ts'

export type Action = (call: Call) => Promise<APIGatewayProxyResult>

/** An action: a schema of the request's body, and what to do with what it lets through. */
export function action<Schema extends z.ZodType, ItsCall extends Call, Result>(
  schema: Schema,
  run: (input: z.output<Schema>, call: ItsCall) => Promise<Result>,
): (call: ItsCall) => Promise<Result> {
  return async (call) => run(parseInput(schema, call.body), call)
}

/** @throws InvalidInputError with the dotted path and the rule of the first issue. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  const path = [...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])]
  const field = path.length === 0 ? 'body' : path.map(String).join('.')
  throw new InvalidInputError(
    field,
    unknown === undefined ? `${field}: ${issue?.message ?? 'is not valid'}` : `${field} is not a known field.`,
  )
}
