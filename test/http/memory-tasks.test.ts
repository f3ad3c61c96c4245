import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Scope } from '../../src/tenancy/scope.ts'
import { startTestApi, type TestApi } from './support/api.ts'
import { type Call, memoryCaller } from './support/memory.ts'

let api: TestApi
let apiKey: string
let scope: Scope
let call: Call
beforeAll(async () => {
  api = await startTestApi()
  apiKey = await api.createKey('writer')
})
afterAll(() => api.stop())
beforeEach(() => {
  scope = api.engines.freshScope()
  call = memoryCaller(api, apiKey, scope)
})

const putTurn = (task: string, turn: number, body: object = {}) => call('PUT', `/tasks/${task}/turns/${turn}`, { body })

describe('GET of the tasks', () => {
  it('tells each of them, ordered by id', async () => {
    const first = await putTurn('b', 3)
    await putTurn('a', 7)
    const last = await putTurn('b', 2)
    const { status, json } = await call('GET', '/tasks')
    expect(status).toBe(200)
    expect(json.tasks[1]).toStrictEqual({
      task_id: 'b',
      latest_turn: 3,
      turn_count: 2,
      created_by: expect.stringMatching(/^[^:]+$/),
      created_at: first.json.created_at,
      updated_at: last.json.updated_at,
      retain_until: last.json.retain_until,
    })
    expect(json).toMatchObject({ tasks: [{ task_id: 'a', latest_turn: 7, turn_count: 1 }, {}], next_page: null })
  })

  it('is empty where there are none', async () => {
    expect((await call('GET', '/tasks')).json).toStrictEqual({ tasks: [], next_page: null })
  })

  it('goes by pages', async () => {
    for (const task of ['a', 'b', 'c', 'd', 'e']) await putTurn(task, 1)
    const pages: string[][] = []
    let page: string | null = null
    do {
      const query: string = page === null ? '' : `&page=${page}`
      const { json } = await call('GET', `/tasks?limit=2${query}`)
      pages.push(json.tasks.map(({ task_id }: { task_id: string }) => task_id))
      page = json.next_page
    } while (page !== null)
    expect(pages).toStrictEqual([['a', 'b'], ['c', 'd'], ['e']])
  })

  it('gives 100 unless told otherwise, and 1,000 at most', async () => {
    for (let index = 100; index < 201; index++) await putTurn(`t${index}`, 1)
    const { json } = await call('GET', '/tasks')
    expect(json.tasks).toHaveLength(100)
    expect((await call('GET', `/tasks?page=${json.next_page}`)).json).toMatchObject({ next_page: null })
    expect((await call('GET', '/tasks?limit=1000')).json.tasks).toHaveLength(101)
  })
})

describe('GET of a task', () => {
  it('tells it with its turns in ascending order, without their summaries', async () => {
    await putTurn('t', 10, { meta: { a: 1 }, summary_md: 'ten' })
    const two = await putTurn('t', 2, { summary_md: 'two' })
    await call('PUT', '/tasks/t/turns/10/artifacts/x', { body: Buffer.from('x') })
    const ten = await call('GET', '/tasks/t/turns/10')
    const { status, json } = await call('GET', '/tasks/t')
    expect(status).toBe(200)
    const [task] = (await call('GET', '/tasks')).json.tasks
    const { summary_md: _two, ...shownTwo } = two.json
    const { summary_md: _ten, ...shownTen } = ten.json
    const { retain_until } = task
    expect(json).toStrictEqual({
      ...task,
      turns: [
        { ...shownTwo, retain_until },
        { ...shownTen, retain_until },
      ],
      next_page: null,
    })
  })

  it('goes by pages', async () => {
    for (const turn of [0, 1, 5, 9_999]) await putTurn('t', turn)
    const first = (await call('GET', '/tasks/t?limit=3')).json
    expect(first.turns.map(({ turn }: { turn: number }) => turn)).toStrictEqual([0, 1, 5])
    expect(first).toMatchObject({ latest_turn: 9_999, turn_count: 4, next_page: expect.any(String) })
    const second = (await call('GET', `/tasks/t?limit=3&page=${first.next_page}`)).json
    expect(second).toMatchObject({ turn_count: 4, turns: [{ turn: 9_999 }], next_page: null })
  })

  it('gives pages that fit, however much the turns hold', async () => {
    const meta = { text: 'x'.repeat(65_000) }
    for (let turn = 0; turn < 80; turn++) await putTurn('t', turn, { meta })
    const first = await call('GET', '/tasks/t?limit=1000')
    expect(first.status).toBe(200)
    expect(first.bytes.length).toBeLessThan(4_194_304)
    expect(first.json.turns.length).toBeGreaterThan(40)
    const second = await call('GET', `/tasks/t?limit=1000&page=${first.json.next_page}`)
    expect(first.json.turns.length + second.json.turns.length).toBe(80)
    expect(second.json.next_page).toBeNull()
  })

  it('is 404 when there is none', async () => {
    expect(await call('GET', '/tasks/t')).toMatchObject({ status: 404, json: { error: { code: 'not_found' } } })
  })
})

describe('query parameters', () => {
  it.each(['0', '1001', '-1', '1.5', '01', '', 'x', '1e2', ' 1'])('refuse the limit %j', async (limit) => {
    await putTurn('t', 1)
    for (const path of ['/tasks', '/tasks/t']) {
      const { status, json } = await call('GET', `${path}?limit=${encodeURIComponent(limit)}`)
      expect([status, json.error.field]).toStrictEqual([400, 'limit'])
    }
  })

  it.each([
    ['/tasks', ''],
    ['/tasks', '.'],
    ['/tasks', 'a#b'],
    ['/tasks', 'a'.repeat(129)],
    ['/tasks/t', ''],
    ['/tasks/t', '-1'],
    ['/tasks/t', '10000'],
    ['/tasks/t', 'x'],
  ])('refuse at %s the page %j', async (path, page) => {
    await putTurn('t', 1)
    const { status, json } = await call('GET', `${path}?page=${encodeURIComponent(page)}`)
    expect([status, json.error.field]).toStrictEqual([400, 'page'])
  })

  it.each(['/tasks', '/tasks/t', '/tasks/t/turns/1', '/tasks/t/turns/1/artifacts/a'])(
    'that are unknown or stand twice are refused at %s',
    async (path) => {
      await call('PUT', '/tasks/t/turns/1/artifacts/a', { body: Buffer.from('x') })
      expect(await call('GET', path)).toMatchObject({ status: 200 })
      for (const query of ['?limits=1', '?limit=1&limit=1&unknown=1']) {
        const { status, json } = await call('GET', path + query)
        expect(status).toBe(400)
        expect(json.error.field).toMatch(/^limits?$|^unknown$/)
      }
    },
  )
})

describe('DELETE of a task', () => {
  it('removes its turns and artifacts, and is 204 when it is gone', async () => {
    for (const turn of [1, 2, 3]) {
      await putTurn('t', turn, { summary_md: 'x'.repeat(10_000) })
      await call('PUT', `/tasks/t/turns/${turn}/artifacts/a`, { body: Buffer.from('x') })
    }
    await putTurn('other', 1)
    const removed = await call('DELETE', '/tasks/t')
    expect([removed.status, removed.text]).toStrictEqual([204, ''])
    for (const path of ['/tasks/t', '/tasks/t/turns/1', '/tasks/t/turns/1/artifacts/a']) {
      expect((await call('GET', path)).status, path).toBe(404)
    }
    expect((await call('GET', '/tasks')).json.tasks).toHaveLength(1)
    expect((await call('DELETE', '/tasks/t')).status).toBe(204)
    expect((await call('DELETE', '/tasks/never')).status).toBe(204)
  })

  it('takes a body and its type, which mean nothing, or none', async () => {
    expect(
      (await call('DELETE', '/tasks/t', { body: '{', headers: { 'content-type': 'application/json' } })).status,
    ).toBe(204)
    expect((await call('DELETE', '/tasks/t', { headers: { 'content-type': 'application/json' } })).status).toBe(204)
  })

  it('leaves room for a task of the same id', async () => {
    await putTurn('t', 5, { summary_md: 'old' })
    await call('DELETE', '/tasks/t')
    await putTurn('t', 1, { summary_md: 'new' })
    expect((await call('GET', '/tasks/t')).json).toMatchObject({ latest_turn: 1, turn_count: 1 })
    expect((await call('GET', '/tasks/t/turns/5')).status).toBe(404)
  })
})

it('a task is not found any more when its time is over, and begins anew with the next write', async () => {
  let now = Date.parse('2026-11-04T10:00:00Z')
  const later = { ...api, ...api.withOptions({ now: () => now, memoryRetentionSec: 100 }) }
  const at = memoryCaller(later, apiKey, scope)
  const written = await at('PUT', '/tasks/t/turns/1', { body: { summary_md: 'a' } })
  expect(written.json).toMatchObject({
    updated_at: '2026-11-04T10:00:00.000Z',
    retain_until: '2026-11-04T10:01:40.000Z',
  })
  await at('PUT', '/tasks/t/turns/1/artifacts/a', { body: Buffer.from('x') })
  now += 99_999
  expect((await at('GET', '/tasks/t')).status).toBe(200)
  now += 1
  for (const path of ['/tasks/t', '/tasks/t/turns/1', '/tasks/t/turns/1/artifacts/a']) {
    expect((await at('GET', path)).status, path).toBe(404)
  }
  expect((await at('GET', '/tasks')).json.tasks).toStrictEqual([])
  await at('PUT', '/tasks/t/turns/2', { body: {} })
  expect((await at('GET', '/tasks/t')).json).toMatchObject({ turn_count: 1, latest_turn: 2, turns: [{ turn: 2 }] })
})
