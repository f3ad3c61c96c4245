import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startTestApi, type TestApi } from './support/api.ts'
import { type Call, memoryCaller } from './support/memory.ts'

let api: TestApi
let apiKey: string
let call: Call
beforeAll(async () => {
  api = await startTestApi()
  apiKey = await api.createKey('writer')
})
afterAll(() => api.stop())
beforeEach(() => {
  call = memoryCaller(api, apiKey, api.engines.freshScope())
})

const absent = { 'if-none-match': '*' }
const put = (turn: number, who: number, headers: Record<string, string> = absent) =>
  call('PUT', `/tasks/t/turns/${turn}`, { headers, body: { meta: { who } } })

it('a turn that is written only if it is absent is never replaced', async () => {
  expect((await put(1, 1)).status).toBe(200)
  const refused = await put(1, 2)
  expect(refused).toMatchObject({ status: 412, json: { error: { code: 'turn_exists' } } })
  expect((await call('GET', '/tasks/t/turns/1')).json.meta).toEqual({ who: 1 })
  expect((await put(1, 3, {})).status).toBe(200)
  expect((await put(2, 4)).status).toBe(200)
})

it('a turn that only its artifacts made is there', async () => {
  await call('PUT', '/tasks/t/turns/1/artifacts/a', { headers: { 'content-type': 'text/plain' }, body: 'x' })
  expect((await put(1, 1)).status).toBe(412)
})

it('of many at once one writes it', async () => {
  for (const turn of [1, 2]) {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, who) => put(turn, who)))
    const written = answers.filter(({ status }) => status === 200)
    expect(written).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(7)
    expect((await call('GET', `/tasks/t/turns/${turn}`)).json.meta).toEqual(written[0]?.json.meta)
  }
  expect((await call('GET', '/tasks/t')).json).toMatchObject({ latest_turn: 2, turn_count: 2 })
})

it('the condition is * or none', async () => {
  for (const value of ['"etag"', '*, *', 'x'])
    expect(await put(1, 1, { 'if-none-match': value })).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_input', field: 'if-none-match' } },
    })
})
