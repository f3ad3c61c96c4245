import { DESCRIBED_ROUTES, type DescribedRoute } from '../../lambdas/openapi/all-operations.ts'
import { answersOf, findAnswer, type KnownAnswer } from '../../lambdas/openapi/answers.ts'
import type { Status } from '../../lambdas/openapi/operation.ts'
import { errorBody } from '../../lambdas/openapi/schemas.ts'

/** An answer of the API, to be held to the description of it. */
export interface SeenAnswer {
  method: string
  /** As it was sent, without the query. */
  path: string
  status: number
  contentType: string | undefined
  /** Undefined where it is not JSON. */
  text: string | undefined
}

interface KnownRoute extends DescribedRoute {
  pattern: RegExp
  answers: Map<Status, KnownAnswer>
}

/** The most literal first: `/uploads` is no `{file_id}`. */
const known: readonly KnownRoute[] = DESCRIBED_ROUTES.map((described) => ({
  ...described,
  pattern: patternOf(described.route.path),
  answers: answersOf(described.operation, described.route),
})).sort((left, right) => parametersIn(left.route.path) - parametersIn(right.route.path))

/** What is wrong with an answer by the description of the API; undefined: nothing. */
export function faultOf(answer: SeenAnswer): string | undefined {
  const ofPath = known.filter(({ pattern }) => pattern.test(answer.path))
  const route = ofPath.find(({ route }) => route.method === answer.method)
  const fault = route ? faultOfRoute(route, answer) : faultOfNoRoute(ofPath.length > 0, answer)
  return fault && `${answer.method} ${route?.route.path ?? answer.path}: ${answer.status} ${fault}`
}

/** Keeps the faults of many answers, for a test to fail at its end, whatever became of each answer. */
export class AnswerChecker {
  readonly #faults = new Set<string>()

  check(answer: SeenAnswer): void {
    const fault = faultOf(answer)
    if (fault !== undefined) this.#faults.add(fault)
  }

  /** Checks what `fetch` gave. What is not JSON is not read. */
  async checkResponse(method: string, path: string, response: Response): Promise<void> {
    const contentType = response.headers.get('content-type') ?? undefined
    const text = isJson(contentType) ? await response.clone().text() : undefined
    this.check({ method, path, status: response.status, contentType, text })
  }

  /** @throws Error naming the faults */
  verify(): void {
    if (this.#faults.size > 0) {
      throw new Error(`The description of the API does not have these answers:\n${[...this.#faults].join('\n')}`)
    }
  }
}

export function isJson(contentType: string | undefined): boolean {
  return /^application\/json\s*(;|$)/.test(contentType ?? '')
}

function faultOfRoute({ answers, operation }: KnownRoute, { status, contentType, text }: SeenAnswer) {
  const answer = findAnswer(answers, status)
  if (!answer) return 'is not described.'
  const { content, codes } = answer
  if (!content) return text ? 'has a body.' : undefined
  const type = contentType?.split(';')[0]?.trim() ?? ''
  const schema = content[type] ?? content['*/*']
  if (schema === undefined) return `has the content type ${type}.`
  if (typeof schema === 'string' || text === undefined) return undefined
  const body: unknown = parseFinite(text)
  const result = schema.safeParse(body)
  if (!result.success) return `has a body that is not as described: ${result.error.message}`
  const code = operation.errorBody && !errorBody.safeParse(body).success ? undefined : codeOf(body)
  if (codes.length > 0 && code !== undefined && !codes.some((known) => known === code)) return `has the code ${code}.`
  return undefined
}

/** What the gateway answers where there is no route, or none of the method. */
function faultOfNoRoute(isPath: boolean, { method, status, text }: SeenAnswer): string | undefined {
  if (method === 'OPTIONS' && status === 204) return text ? 'has a body.' : undefined
  const code = errorBody.safeParse(JSON.parse(text ?? 'null')).data?.error.code
  const expected = isPath
    ? { 405: 'method_not_allowed', 415: 'unsupported_media_type' }[status]
    : { 404: 'not_found' }[status]
  return code !== undefined && (code === expected || code === 'invalid_request') ? undefined : `has the code ${code}.`
}

/** JSON has numbers that JavaScript has not: they become others. Of any depth, which a reviver does not take. */
function parseFinite(text: string): unknown {
  const whole = { body: JSON.parse(text) as unknown }
  const open: object[] = [whole]
  for (const each of open) {
    for (const [name, value] of Object.entries(each)) {
      if (typeof value === 'object' && value !== null) open.push(value)
      else if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) Reflect.set(each, name, 0.5)
    }
  }
  return whole.body
}

function codeOf(body: unknown): string | undefined {
  return errorBody.safeParse(body).data?.error.code
}

function parametersIn(path: string): number {
  return path.split('{').length - 1
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
}
