import type * as z from 'zod'
import type { AnyRoute } from '../shared/routes.ts'
import { COMMON_ERRORS, CREDENTIAL_ERRORS, ERROR_CODES, type ErrorCode } from './error-codes.ts'
import type { Answer, Operation, Status } from './operation.ts'
import { errorBody } from './schemas.ts'

/** An answer of an operation, with the codes of the errors that come with its status. */
export interface KnownAnswer extends Answer {
  codes: readonly ErrorCode[]
}

/** All answers of a route by their status, those of errors too. */
export function answersOf(operation: Operation, { role }: Pick<AnyRoute, 'role'>): Map<Status, KnownAnswer> {
  const common = role === undefined ? COMMON_ERRORS : [...CREDENTIAL_ERRORS, ...COMMON_ERRORS]
  const codes = codesByStatus([...common, ...(operation.errors ?? [])])
  const own = Object.entries(operation.answers) as [Status, Answer][]
  const answers = new Map(own.map(([status, answer]): [Status, KnownAnswer] => [status, { ...answer, codes: [] }]))
  for (const [status, ofStatus] of codes) {
    answers.set(status, errorAnswer(ofStatus, operation.errorBody ?? errorBody))
  }
  return new Map([...answers].sort(([left], [right]) => (left < right ? -1 : 1)))
}

/** The answer of a status, by itself or by its range. */
export function findAnswer<Value>(answers: ReadonlyMap<Status, Value>, status: number): Value | undefined {
  return answers.get(`${status}`) ?? answers.get(`${Math.floor(status / 100)}XX` as Status)
}

function codesByStatus(codes: readonly ErrorCode[]): Map<Status, ErrorCode[]> {
  const pairs = codes.flatMap((code) => ERROR_CODES[code].statuses.map((status) => ({ code, status: `${status}` })))
  const grouped = Map.groupBy(pairs, ({ status }) => status as Status)
  return new Map([...grouped].map(([status, ofStatus]) => [status, ofStatus.map(({ code }) => code)]))
}

export function errorAnswer(codes: readonly ErrorCode[], schema: z.ZodType): KnownAnswer {
  const headers: Record<string, string> = {}
  if (codes.includes('unauthenticated')) headers['www-authenticate'] = 'The ways to authenticate.'
  if (codes.includes('method_not_allowed')) headers.allow = 'The methods that the path has.'
  if (codes.includes('unavailable') || codes.includes('too_many_requests')) {
    headers['retry-after'] = 'Seconds to wait, if it is known.'
  }
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code].meaning}`).join('\n\n'),
    headers,
    content: { 'application/json': schema },
    codes,
  }
}
