import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { secretText } from '../../lambdas/shared/secret.ts'

const ARN = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf'
const KEYS = { accessKeyId: 'AKID', secretAccessKey: 'a-secret-access-key', sessionToken: 'a-session' }

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
})
beforeEach(() => {
  received.length = 0
  answer = { status: 200, body: JSON.stringify({ ARN, SecretString: ' sk-ant-1\n' }) }
})

function reader() {
  return secretText({
    secretArn: ARN,
    client: { region: 'eu-west-1', credentials: KEYS, endpoint, maxAttempts: 1 },
    now: () => now,
  })
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
  [400, '{"__type":"AccessDeniedException","Message":"no"}'],
  [500, '{}'],
  [200, '{"SecretBinary":"AAAA"}'],
  [200, '{"SecretString":"  "}'],
])('a failure (%d %s) is not kept', async (status, body) => {
  answer = { status, body }
  const read = reader()
  await expect(read()).rejects.toThrow()
  answer = { status: 200, body: JSON.stringify({ SecretString: 'sk-ant-3' }) }
  expect(await read()).toBe('sk-ant-3')
})
