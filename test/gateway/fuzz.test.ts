import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import { afterAll, beforeAll, expect, test } from 'vitest'
import description from '../../docs/openapi.json' with { type: 'json' }
import { SECURITY_HEADERS } from '../../lambdas/shared/security-headers.ts'
import { type LocalStack, startLocalStack } from '../../local/index.ts'
import { KnownValues } from '../http/support/fuzz/known-values.ts'
import { Random } from '../http/support/fuzz/random.ts'
import { type Description, EventMaker, targetsOf } from '../http/support/fuzz/valid-events.ts'
import { digestOf, type Stored } from '../http/support/fuzz/writes.ts'
import { exchange } from './harness.ts'

/** The same seed makes the same requests. */
const SEED = Number(process.env.SANDKEEP_FUZZ_SEED ?? 11)
/** A tenth of those that the functions are sent without HTTP. */
const REQUESTS = Number(process.env.SANDKEEP_FUZZ_REQUESTS ?? 3_000) / 10

let stack: LocalStack
let stored: Stored
beforeAll(async () => {
  stack = await startLocalStack()
  const { region, credentials, tableName, bucketName, dynamodbEndpoint, s3Endpoint } = stack
  stored = {
    dynamodb: new DynamoDBClient({ endpoint: dynamodbEndpoint, region, credentials: { ...credentials } }),
    s3: new S3Client({ endpoint: s3Endpoint, region, credentials: { ...credentials }, forcePathStyle: true }),
    tableName,
    bucketName,
  }
})
afterAll(async () => {
  stored.dynamodb.destroy()
  stored.s3.destroy()
  await stack.stop()
})

type Change = (lines: string[], random: Random) => void

/** What the parser of HTTP and the gateway have to do with, and no function. */
const changes: readonly Change[] = [
  () => undefined,
  (lines) => lines.splice(1, 1),
  (lines) => lines.push('Host: b'),
  (lines) => lines.push(`X-Long: ${'a'.repeat(10_300)}`),
  (lines) => lines.push(...Array.from({ length: 400 }, (_, index) => `X-${index}: `)),
  (lines) => lines.push('X-Api-Key: skp_other'),
  (lines) => lines.push('Authorization: Bearer x.y.z'),
  (lines) => lines.push('Expect: 100-continue'),
  (lines) => lines.push('Expect: something'),
  (lines) => lines.push('Transfer-Encoding: gzip'),
  (lines) => lines.push(' folded: x'),
  (lines) => lines.push('no colon'),
  (lines) => lines.push('X-Bytes: \x01\xe9\xff'),
  (lines) => lines.push('Upgrade: h2c', 'HTTP2-Settings: x'),
  (lines, random) => {
    const targets = [
      '*',
      '//x',
      '/%',
      '/sandbox/%2e%2e/keys/v1',
      `/${'a'.repeat(9_000)}`,
      'http://other/sandbox',
      '/a?b=%ff&b=%',
    ]
    lines[0] = `${random.pick(['GET', 'POST', 'HEAD', 'TRACE', 'OPTIONS', 'PATCH'])} ${random.pick(targets)} HTTP/1.1`
  },
  (lines, random) => {
    lines[0] = lines[0]?.replace(/ (\S+) /, random.pick([' $1/ ', ' /$1 ', ' $1?', ' $1?a=1&a=2 ', ' $1%2F '])) ?? ''
  },
]

/** The request that the gateway would make the event of. */
function rawRequest(event: APIGatewayProxyEvent, apiKey: string, random: Random): string {
  const path = event.resource.replaceAll(/\{(\w+)\}/g, (_braces, name: string) => event.pathParameters?.[name] ?? '')
  const query = Object.entries(event.multiValueQueryStringParameters ?? {}).flatMap(([name, values]) =>
    (values ?? []).map((value) => `${name}=${value}`),
  )
  const body = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8').subarray(0, 60_000)
  const headers = Object.entries(event.multiValueHeaders ?? {}).flatMap(([name, values]) =>
    (values ?? []).map((value) => `${name}: ${value}`),
  )
  const lines = [
    `${event.httpMethod} ${path}${query.length > 0 ? `?${query.join('&')}` : ''} HTTP/1.1`,
    'Host: a',
    ...headers,
    `X-Api-Key: ${apiKey}`,
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]
  if (random.chance(0.4)) random.pick(changes)(lines, random)
  return `${lines.join('\r\n')}\r\n\r\n${body.toString('latin1')}`
}

/** The last answer on a connection: one may come before it that says to go on. */
function readAnswer(raw: string) {
  const [head = '', ...rest] = raw.replace(/^HTTP\/1\.1 100 [\s\S]*?\r\n\r\n/, '').split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const headers = new Headers(
    fields.map((field): [string, string] => [field.split(':')[0] ?? '', field.replace(/^[^:]*:/, '')]),
  )
  return { status: Number(line.split(' ')[1]), headers, text: rest.join('\r\n\r\n') }
}

test(`no bytes on a connection bring about a 5xx, and what is refused changes nothing (seed ${SEED})`, async () => {
  const random = new Random(SEED)
  const known = new KnownValues({ thread_id: ['t'], task_id: ['t1'], turn: [1] })
  const maker = new EventMaker(description as unknown as Description, random, known)
  // It has no key here to go on with.
  const targets = targetsOf(description as unknown as Description).filter(
    ({ resource }) => !resource.includes('anthropic/v1/messages'),
  )
  const send = async (request: string): Promise<number> => {
    const { status, headers, text } = readAnswer(await exchange(stack.url, request))
    const missing = Object.entries(SECURITY_HEADERS).filter(([name, value]) => headers.get(name)?.trim() !== value)
    const isError = status >= 400 && !request.startsWith('HEAD')
    const faults = [
      ...(status >= 200 && status < 500 ? [] : [status]),
      ...missing,
      ...(isError && !/"error":\{"(code|type)":"/.test(text) ? [text] : []),
    ]
    expect(faults, `Seed ${SEED}: ${JSON.stringify(request).slice(0, 3_000)}`).toEqual([])
    return status
  }
  let refused: string[] = []
  for (let count = 0; count < REQUESTS; count += 1) {
    const event = maker.make(random.pick(targets), random.pick([0, 0, 1, 2]))
    const request = rawRequest(event, stack.apiKey, random)
    if ((await send(request)) >= 400) refused.push(request)
  }
  for (;;) {
    const before = await digestOf(stored)
    const still: string[] = []
    for (const request of refused) if ((await send(request)) >= 400) still.push(request)
    if (still.length === refused.length) {
      expect(await digestOf(stored)).toBe(before)
      break
    }
    refused = still
  }
}, 120_000)
