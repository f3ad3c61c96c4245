import { expect, test } from 'vitest'
import { createClient } from '../../client/index.ts'
import type { LambdaHandler, Template } from '../../local/gateway/index.ts'
import { readApi } from '../../local/gateway/read-api.ts'
import { resourcesOfType } from '../../local/gateway/template.ts'
import { echo, eventOf, freshTemplate, GET_PATH, policy, post, refusalOf, testGateway } from './harness.ts'

const keys = [...readApi(freshTemplate()).throttling.keys]
const [[first = '', { id: firstId } = { id: '' }] = [], [second = ''] = []] = keys

/** Counts the request for the key that it brings. */
const counting: LambdaHandler = async ({ headers, methodArn }) => {
  const { usageIdentifierKey: _, ...allowed } = policy('Allow', methodArn)
  const key = headers['x-counted-as']
  return key === undefined ? allowed : { ...allowed, usageIdentifierKey: key }
}

function limited(perKey: [rate: number, burst: number], stage: [rate: number, burst: number]): Template {
  const template = freshTemplate()
  const propertiesOf = (type: string) => resourcesOfType(template, type)[0]?.[1].Properties as Record<string, unknown>
  propertiesOf('AWS::ApiGateway::UsagePlan').Throttle = { RateLimit: perKey[0], BurstLimit: perKey[1] }
  const [ThrottlingRateLimit, ThrottlingBurstLimit] = stage
  propertiesOf('AWS::ApiGateway::Stage').MethodSettings = [
    { HttpMethod: '*', ResourcePath: '/*', ThrottlingRateLimit, ThrottlingBurstLimit },
  ]
  return template
}

async function start(perKey: [number, number], stage: [number, number] = [1_000, 1_000]) {
  let now = 1_000_000
  const url = await testGateway({ authorizer: counting }, { template: limited(perKey, stage), now: () => now })
  const statuses = async (count: number, key: string) => {
    const found: number[] = []
    for (let index = 0; index < count; index += 1) {
      found.push((await post(url + GET_PATH, '{}', { 'x-counted-as': key })).status)
    }
    return found
  }
  return { url, statuses, pass: (milliseconds: number) => (now += milliseconds) }
}

test('a key may do so many requests at once, and then so many a second, whatever others do', async () => {
  const { statuses, pass } = await start([2, 3])
  expect(await statuses(5, first)).toEqual([200, 200, 200, 429, 429])
  expect(await statuses(1, second)).toEqual([200])
  pass(499)
  expect(await statuses(1, first)).toEqual([429])
  pass(1)
  expect(await statuses(2, first)).toEqual([200, 429])
  pass(3_600_000)
  expect(await statuses(4, first)).toEqual([200, 200, 200, 429])
})

test('all keys together may do what the stage takes, and so may those without one', async () => {
  const { url, statuses } = await start([10, 10], [1, 3])
  expect(await statuses(1, first)).toEqual([200])
  expect(await statuses(1, second)).toEqual([200])
  expect((await fetch(`${url}/openapi.json`)).status).toBe(200)
  expect((await fetch(`${url}/openapi.json`)).status).toBe(429)
  expect(await statuses(1, second)).toEqual([429])
})

test('the refusal is JSON, and says when to try again', async () => {
  const { url, statuses } = await start([1, 1])
  await statuses(1, first)
  const answer = await post(url + GET_PATH, '{}', { 'x-counted-as': first })
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(await refusalOf(answer)).toMatchObject({ status: 429, code: 'too_many_requests' })
})

test('a request that counts for no key, or for one that is not in the plan, is forbidden', async () => {
  const { url, statuses } = await start([9, 9])
  expect(await refusalOf(await post(url + GET_PATH, '{}'))).toMatchObject({ status: 403, code: 'forbidden' })
  expect(await statuses(1, `${first}1`)).toEqual([403])
})

test('a header of the client counts for nothing', async () => {
  const { url } = await start([9, 9])
  expect((await post(url + GET_PATH, '{}', { 'x-api-key': first })).status).toBe(403)
})

test('functions are told the key, and its id', async () => {
  const url = await testGateway({ authorizer: counting, checkpoints: echo })
  const { requestContext } = await eventOf(await post(url + GET_PATH, '{}', { 'x-counted-as': first }))
  expect(requestContext.identity).toMatchObject({ apiKey: first, apiKeyId: firstId })
})

test('the client waits as it is told, and repeats', async () => {
  const template = limited([20, 8], [1_000, 1_000])
  const answer: LambdaHandler = async () => ({ statusCode: 200, body: '{"head_id":null}' })
  const authorizer: LambdaHandler = async ({ methodArn }) => policy('Allow', methodArn)
  const url = await testGateway({ authorizer, checkpoints: answer }, { template })
  const client = createClient({ url, apiKey: 'good', tenant: 'acme', project: 'web' })
  const heads = await Promise.all(Array.from({ length: 14 }, () => client.checkpoints.getHead('t')))
  expect(heads).toEqual(heads.map(() => null))
})
