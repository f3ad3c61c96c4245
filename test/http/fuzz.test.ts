import type { APIGatewayProxyEvent } from 'aws-lambda'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import description from '../../docs/openapi.json' with { type: 'json' }
import { SECURITY_HEADERS } from '../../lambdas/shared/security-headers.ts'
import { faultOf, isJson } from '../support/answer-check.ts'
import { Random } from './support/fuzz/random.ts'
import { type FuzzAnswer, type FuzzServices, startFuzzServices } from './support/fuzz/services.ts'
import { type Description, EventMaker, targetsOf } from './support/fuzz/valid-events.ts'

/** The same seed makes the same requests; `SANDKEEP_FUZZ_SEED` and `SANDKEEP_FUZZ_REQUESTS` say others. */
const SEED = Number(process.env.SANDKEEP_FUZZ_SEED ?? 7)
const REQUESTS = Number(process.env.SANDKEEP_FUZZ_REQUESTS ?? 4_000)
const BATCH = 1_000

/** Refusals that write all the same, with the reason. */
const WRITING_REFUSALS: Readonly<Record<string, string>> = {
  '/sandbox/sandboxes/v1/{sandbox_id}/snapshots blob_missing':
    'A save takes the lease of its thread before it looks for the blobs: the protocol of the sweep rests on that order.',
}

const targets = targetsOf(description as unknown as Description)
/** What makes something comes more often than what takes it away. */
const weighted = targets.flatMap((target) =>
  /^(acquire|append|create|put|save|start)/.test(target.operation.operationId) ? [target, target, target] : [target],
)

let services: FuzzServices
beforeAll(async () => {
  services = await startFuzzServices()
})
afterAll(() => services.stop())

interface Sent {
  event: APIGatewayProxyEvent
  answer: FuzzAnswer
}

test(`no request brings about a 5xx, and none that is refused changes anything (seed ${SEED})`, async () => {
  const logged = vi.spyOn(process.stderr, 'write').mockReturnValue(true).mock.calls
  const random = new Random(SEED)
  const maker = new EventMaker(description as unknown as Description, random, services.known)
  const accepted = new Set<string>()
  let count = 0
  const send = async (event: APIGatewayProxyEvent): Promise<Sent> => {
    count += 1
    const replay = `Request ${count} of the seed ${SEED}: ${JSON.stringify(event).slice(0, 4_000)}`
    const fail = (cause: unknown): never => {
      throw new Error(replay, { cause })
    }
    // They show no key.
    expect(await services.authorize(event).catch(fail), replay).toBe(false)
    const answer = await services.send(event).catch(fail)
    expect(faultsOf(event, answer, logged.splice(0).map(String)), replay).toEqual([])
    return { event, answer }
  }
  while (count < REQUESTS) {
    services.clock.now += 1_000
    let refused: Sent[] = []
    for (let index = 0; index < BATCH; index += 1) {
      const target = random.pick(weighted)
      const sent = await send(maker.make(target, random.pick([0, 0, 1, 1, 1, 2, 3])))
      if (leavesAll(sent)) refused.push(sent)
      else if (sent.answer.status < 400) {
        accepted.add(target.operation.operationId)
        await learn(services, sent)
      }
    }
    // What is refused still, now that nothing else happens meanwhile, leaves all as it is.
    for (;;) {
      const before = await services.digest()
      const again: Sent[] = []
      for (const { event } of refused) again.push(await send(event))
      const still = again.filter(leavesAll)
      const all = still.length === refused.length
      refused = still
      if (!all) continue
      expect(await services.digest(), `Batch up to request ${count} of the seed ${SEED}`).toBe(before)
      break
    }
  }
  const never = targets.map(({ operation }) => operation.operationId).filter((id) => !accepted.has(id))
  // Otherwise most of the functions would not be seen.
  expect(never.length).toBeLessThan(targets.length / 4)
}, 600_000)

/** Whether it was refused, and is not one of those that write all the same. */
function leavesAll({ answer }: Sent): boolean {
  return answer.status >= 400 && answer.writes.length === 0
}

/** What is wrong with an answer, whatever the request. */
function faultsOf(
  event: APIGatewayProxyEvent,
  { status, headers, text, writes }: FuzzAnswer,
  logged: string[],
): unknown[] {
  const contentType = headers.get('content-type') ?? undefined
  // Other methods than the route's do not come to a function.
  const known = status !== 405 && event.httpMethod !== 'OPTIONS'
  const answer = {
    method: event.httpMethod,
    path: event.resource,
    status,
    contentType,
    text: isJson(contentType) ? text : undefined,
  }
  const missing = Object.entries(SECURITY_HEADERS).filter(([name, value]) => headers.get(name) !== value)
  return [
    ...(status >= 500 && !isExpected(event, status) ? [`${status} ${text}`] : []),
    ...(status >= 400 && writes.length > 0 && !mayWrite(event, text) ? [`${status} ${text}`, ...writes] : []),
    ...(known ? [faultOf(answer) ?? []].flat() : []),
    ...missing,
    ...(headers.has('x-request-id') ? [] : ['no x-request-id']),
    ...logged.filter((line) => line.includes('"level":"ERROR"')),
  ]
}

function mayWrite({ resource }: APIGatewayProxyEvent, text: string): boolean {
  return Object.hasOwn(WRITING_REFUSALS, `${resource} ${JSON.parse(text).error?.code}`)
}

/** The authorizer could not ask the identity provider. */
function isExpected({ requestContext }: APIGatewayProxyEvent, status: number): boolean {
  return status === 503 && requestContext.authorizer?.unavailable === 'true'
}

/** Takes in what later requests can name, and sends what an upload was announced for. */
async function learn({ known }: FuzzServices, { event, answer }: Sent): Promise<void> {
  if (!isJson(answer.headers.get('content-type') ?? undefined) || answer.text === '') return
  const body = JSON.parse(answer.text)
  known.learn(body)
  if (event.resource === '/sandbox/files/v1' && body.id) known.learnField('file_id', body.id)
  const sent = bodyOf(event)
  if (event.resource.endsWith('/append')) known.learnHead(sent.checkpoint?.threadId, body.head_id)
  if (event.resource.endsWith('/fork')) known.learnHead(sent.destination_thread_id, sent.destination_checkpoint_id)
  if (body.upload_id && sent.size_bytes <= 100) {
    const { 'content-length': _length, ...headers } = body.headers
    const path = { ...event.pathParameters, upload_id: body.upload_id } as Record<string, string>
    known.learnPath(`${event.resource}/{upload_id}/complete`, path)
    await fetch(body.url, { method: body.method, headers, body: Buffer.alloc(sent.size_bytes) })
  }
}

// biome-ignore lint/suspicious/noExplicitAny: its fields are read as they come.
function bodyOf({ httpMethod, body, isBase64Encoded }: APIGatewayProxyEvent): any {
  const text = new TextDecoder().decode(Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8'))
  return httpMethod !== 'GET' && text.startsWith('{') ? JSON.parse(text) : {}
}
