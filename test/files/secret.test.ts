import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { secretText } from '../../lambdas/shared/secret.ts'

const ARN = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf'
const KEYS = { accessKeyId: 'AKID', secretAccessKey: 'a-secret-access-key', sessionToken: 'a-session' }
const client = new S3Client({ region: 'eu-west-1', credentials: KEYS })

interface Received {
  method: string | undefined
  path: string | undefined
  headers: IncomingMessage['headers']
  body: string
}

const received: Received[] = []
let answer = { status: 200, body: '' }
let endpoint: string
let now = 0
const server = createServer(async (request, response) => {
  const { method, url: path, headers } = request
  let body = ''
  for await (const chunk of request) body += chunk
  received.push({ method, path, headers, body })
  response.writeHead(answer.status).end(answer.body)
})
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.close()
  client.destroy()
})
beforeEach(() => {
  received.length = 0
  answer = { status: 200, body: JSON.stringify({ ARN, SecretString: ' sk-ant-1\n' }) }
})

function reader() {
  return secretText({ client, secretArn: ARN, endpoint, now: () => now })
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** The signature of a request as AWS computes it. */
function signatureOf({ method, path, headers, body }: Received): string {
  const signed = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1] ?? ''
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const canonical = [method, path, '', lines.join(''), signed, sha256(body)].join('\n')
  const date = String(headers['x-amz-date'])
  const day = date.slice(0, 8)
  const scope = `${day}/eu-west-1/secretsmanager/aws4_request`
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')
  const key = [day, 'eu-west-1', 'secretsmanager', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${KEYS.secretAccessKey}`,
  )
  return hmac(key, text).toString('hex')
}

it('asks Secrets Manager by a signed request, and gives the text without white space', async () => {
  expect(await reader()()).toBe('sk-ant-1')
  const [request] = received
  if (!request) throw new Error('Nothing was asked.')
  expect(request).toMatchObject({
    method: 'POST',
    path: '/',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': 'secretsmanager.GetSecretValue',
      'x-amz-security-token': KEYS.sessionToken,
    },
  })
  expect(JSON.parse(request.body)).toEqual({ SecretId: ARN })
  expect(request.headers.authorization).toContain('Credential=AKID/')
  expect(request.headers.authorization).toContain(`Signature=${signatureOf(request)}`)
})

it('asks once in five minutes, and then takes a changed secret', async () => {
  const read = reader()
  expect(await Promise.all([read(), read(), read()])).toEqual(['sk-ant-1', 'sk-ant-1', 'sk-ant-1'])
  answer.body = JSON.stringify({ SecretString: 'sk-ant-2' })
  now += 299_999
  expect(await read()).toBe('sk-ant-1')
  now += 1
  expect(await read()).toBe('sk-ant-2')
  expect(received).toHaveLength(2)
})

it.each([
  [400, '{"__type":"AccessDeniedException","message":"arn and more"}'],
  [500, 'oops'],
  [200, '{"SecretBinary":"AAAA"}'],
  [200, '{"SecretString":"  "}'],
])('a failure (%d %s) is told without what came, and not kept', async (status, body) => {
  answer = { status, body }
  const read = reader()
  const error = await read().catch((thrown: Error) => thrown)
  expect(String(error)).toMatch(/^Error: (Secrets Manager answered \d+|The secret has no text)\.$/)
  answer = { status: 200, body: JSON.stringify({ SecretString: 'sk-ant-3' }) }
  expect(await read()).toBe('sk-ant-3')
})
