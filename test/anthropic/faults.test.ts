import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bash, messageEvents, sse, text } from '../ai/support/messages.ts'
import { cancelled, type Fault, injectFaults, loseAnswer, refuse, serviceError } from '../store/support/faults.ts'
import { request, startWorld, streaming, type World } from './support/world.ts'

let world: World
let ids = 0

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())
beforeEach(() => {
  world.app = world.api.engines.freshScope()
  world.endpoint.replyWith()
})

const fresh = (kind: string) => {
  ids += 1
  return `${kind}_fault${ids}`
}
const answer = (container: string, file: string) => ({ content: bash('s1', 'x', [file]), container: { id: container } })
const throttled = () => refuse(() => serviceError('ThrottlingException', 400))
const conflict = () => refuse(() => cancelled('None', 'TransactionConflict', 'None'))

describe('a write that fails in passing', () => {
  test.each<[string, () => Fault[]]>([
    ['throttled', () => [throttled(), throttled()]],
    ['in conflict', () => [conflict(), conflict(), conflict()]],
    ['with its answer lost', () => [loseAnswer(), loseAnswer()]],
  ])('is made again: %s', async (_what, faults) => {
    const [container, file] = [fresh('container'), fresh('file')]
    world.endpoint.replyWith(answer(container, file))
    using injected = injectFaults(world.api.engines.dynamodb, 'TransactWriteItems', faults())
    const response = await world.post({}, streaming('x'))
    expect(await response.text()).toContain(file)
    expect(injected.left).toBe(0)
    const known = await world.registry({}).lookUp({ containerId: container, fileIds: new Set([file]), scope: 'user' })
    expect([known.container?.id, known.files.size]).toEqual([container, 1])
  })

  test('again and again is a 503 to repeat, without the answer', async () => {
    const [container, file] = [fresh('container'), fresh('file')]
    world.endpoint.replyWith(answer(container, file), answer(container, file))
    using _injected = injectFaults(
      world.api.engines.dynamodb,
      'TransactWriteItems',
      Array.from({ length: 100 }, throttled),
    )
    const response = await world.post({}, request('x'))
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    const streamed = await world.post({}, streaming('x')).then(
      (found) => found.text(),
      () => '',
    )
    expect(streamed).not.toContain(file)
  }, 120_000)
})

test('a read that fails is made again, and sends nothing before', async () => {
  const container = fresh('container')
  await world.registry({}).addContainer(container, 'user')
  world.endpoint.replyWith({ content: [text('x')] })
  using injected = injectFaults(world.api.engines.dynamodb, 'BatchGetItem', [throttled(), throttled()])
  expect((await world.post({}, request('x', { container }))).status).toBe(200)
  expect(injected.left).toBe(0)
})

test('a use that cannot be noted does the answer no harm', async () => {
  const container = fresh('container')
  await world.registry({}).addContainer(container, 'user')
  world.clock.now += 3_600_000
  world.endpoint.replyWith({ content: [text('x')], container: { id: container } })
  using injected = injectFaults(world.api.engines.dynamodb, 'UpdateItem', [refuse(() => new Error('no'))])
  expect((await world.post({}, request('x', { container }))).status).toBe(200)
  expect(injected.left).toBe(0)
})

test('many answers with the same ids at once all come out', async () => {
  const [container, file] = [fresh('container'), fresh('file')]
  world.endpoint.replyWith(...Array.from({ length: 20 }, () => answer(container, file)))
  const answers = await Promise.all(Array.from({ length: 20 }, () => world.post({}, streaming('x'))))
  for (const response of answers)
    expect(await response.text()).toBe(sse(messageEvents(answer(container, file), 'claude-sonnet-4-5')))
})

test('an answer that is compressed all the same is not passed unread', async () => {
  world.endpoint.replyWith({ headers: { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }, body: 'x' })
  expect((await world.post({}, streaming('x'))).status).toBe(502)
})

test('whatever is sent, the answer is one of the API, and no id that is nobody’s gets through', async () => {
  world.endpoint.replyElse({ content: [text('x')] })
  const random = generator(7)
  const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T
  const names = [
    'container',
    'messages',
    'content',
    'type',
    'file_id',
    'source',
    'id',
    'input',
    'system',
    'role',
    '__proto__',
    'thread',
  ]
  const scalars = [
    '"file"',
    '"container_upload"',
    '"tool_use"',
    '"text"',
    '"user"',
    '7',
    'null',
    'true',
    '-0',
    '1e999',
    '"\\ud800"',
    '""',
  ]
  const value = (depth: number): string => {
    const kind = depth > 5 ? 0 : Math.floor(random() * 3)
    if (kind === 0) return pick(scalars)
    const items = Array.from({ length: Math.floor(random() * 4) }, () => value(depth + 1))
    return kind === 1 ? `[${items.join(',')}]` : `{${items.map((item) => `"${pick(names)}":${item}`).join(',')}}`
  }
  for (let round = 0; round < 400; round += 1) {
    const secret = `{"type":"file","file_id":"file_of_another"}`
    const body = `{"messages":[{"role":"user","content":[{"type":"document","source":${secret}},${value(0)}]}],"x":${value(0)},"${pick(names)}":${value(0)}}`
    const cut = random() < 0.2 ? body.slice(0, Math.floor(random() * body.length)) : body
    const response = await world.post({}, cut)
    expect([400, 404], cut).toContain(response.status)
    expect(await response.json()).toMatchObject({ type: 'error' })
  }
  expect(world.endpoint.requests).toEqual([])
}, 120_000)

/** Numbers from 0 to 1, the same each time. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
