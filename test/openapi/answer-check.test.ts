import { expect, test } from 'vitest'
import { synthesizeTemplate } from '../../local/template.ts'
import { AnswerChecker, faultOf, type SeenAnswer } from '../support/answer-check.ts'
import { startLocalStack } from '../support/local-stack.ts'

const json = 'application/json'
const head = { method: 'POST', path: '/sandbox/checkpoints/v1/head', status: 200, contentType: json }
const body = (value: unknown) => JSON.stringify(value)
const error = (code: string) => body({ error: { code, message: 'm' } })

const times = { created_at: '2025-11-30T12:00:00.000Z', updated_at: '2025-11-30T12:00:00.000Z' }
const turn = {
  method: 'GET',
  path: '/sandbox/memory/v1/tasks/t/turns/1',
  status: 200,
  contentType: json,
  text: body({
    task_id: 't',
    turn: 1,
    meta: { cost: 1.5 },
    summary_md: '',
    artifacts: [],
    ...times,
    retain_until: times.created_at,
  }),
}

test.for<[string, SeenAnswer]>([
  ['an answer', { ...head, text: body({ head_id: null }) }],
  ['an error', { ...head, status: 400, text: error('SANDBOX_SNAPSHOT_INVALID_ID') }],
  ['a refusal of the gateway', { ...head, status: 431, text: error('invalid_request') }],
  ['no route', { ...head, path: '/x', status: 404, text: error('not_found') }],
  ['no method of a route', { ...head, method: 'PUT', status: 405, text: error('method_not_allowed') }],
  ['a number beyond all bounds', { ...turn, text: turn.text.replace('1.5', '1e999') }],
  ['a preflight', { ...head, method: 'OPTIONS', status: 204, contentType: undefined, text: undefined }],
  ['bytes', { method: 'GET', path: '/sandbox/files/v1/f/content', status: 200, contentType: 'a/b', text: undefined }],
])('%s is described', ([, answer]) => {
  expect(faultOf(answer)).toBeUndefined()
})

test.for<[string, SeenAnswer, string]>([
  ['a status', { ...head, status: 201, text: '{}' }, 'is not described'],
  ['a content type', { ...head, contentType: 'text/plain', text: undefined }, 'has the content type text/plain'],
  ['a field', { ...head, text: body({ head_id: null, more: 1 }) }, 'more'],
  ['a type', { ...head, text: body({ head_id: 1 }) }, 'head_id'],
  ['a code', { ...head, status: 400, text: error('file_refused') }, 'has the code file_refused'],
  ['a body', { ...head, path: '/sandbox/checkpoints/v1/delete-head', status: 204, text: '{}' }, 'has a body'],
  ['a route', { ...head, path: '/x', text: '{}' }, '/x: 200'],
  ['a method', { ...head, method: 'PUT', text: '{}' }, 'PUT /sandbox/checkpoints/v1/head: 200'],
  ['a literal path', { ...head, method: 'GET', path: '/sandbox/files/v1/uploads/x', text: '{}' }, '200'],
])('%s that is not described is a fault', ([, answer, expected]) => {
  expect(faultOf(answer)).toContain(expected)
})

test('a checker keeps the faults until it is asked', async () => {
  const checker = new AnswerChecker()
  checker.verify()
  await checker.checkResponse('POST', head.path, Response.json({ head_id: 1 }))
  expect(() => checker.verify()).toThrow('head_id')
})

test('the local stack is watched, whoever asks', async () => {
  const template = JSON.parse(JSON.stringify(synthesizeTemplate()).replaceAll('not_found', 'nowhere'))
  const stack = await startLocalStack({ template })
  expect((await fetch(`${stack.url}/x`)).status).toBe(404)
  await expect(stack.stop()).rejects.toThrow('GET /x: 404')
})
