import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { crc32 } from 'node:zlib'
import type { Engine } from './engine.ts'
import { DynamoDbError, isAnswer } from './errors.ts'
import type { JsonObject } from './types.ts'

const MAX_REQUEST_BYTES = 16 * 1024 * 1024
const TARGET = /^DynamoDB_20120810\.(\w+)$/

/** DynamoDB's JSON protocol over HTTP for an engine. Any Signature Version 4 header is accepted; signatures are not checked. */
export function createDynamoDbServer(engine: Engine): Server {
  const server = createServer((request, response) => {
    answer(engine, request).then(
      (body) => send(response, 200, body),
      (error: unknown) => {
        const refusal = isAnswer(error) ? error : internalError(error)
        send(response, refusal.statusCode, refusal.body)
      },
    )
  })
  // Clients keep connections; one that the server ends while a request is on its way would fail that request.
  server.keepAliveTimeout = 0
  return server
}

async function answer(engine: Engine, request: IncomingMessage): Promise<JsonObject> {
  const body = await readBody(request)
  const operation = TARGET.exec(String(request.headers['x-amz-target'] ?? ''))?.[1]
  if (request.method !== 'POST' || operation === undefined) throw new DynamoDbError('UnknownOperationException', '')
  checkAuthorization(request)
  return engine.execute(operation, parse(body))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= MAX_REQUEST_BYTES) chunks.push(chunk)
  }
  if (bytes > MAX_REQUEST_BYTES) {
    throw new DynamoDbError('RequestEntityTooLargeException', 'The request is over 16 MB', {}, 413)
  }
  return Buffer.concat(chunks).toString()
}

function parse(body: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    throw new DynamoDbError('SerializationException', 'The body is not JSON')
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new DynamoDbError('SerializationException', 'The body is not an object')
  }
  return value as JsonObject
}

function checkAuthorization(request: IncomingMessage): void {
  const header = request.headers.authorization
  if (!header?.startsWith('AWS4-')) {
    throw new DynamoDbError('MissingAuthenticationTokenException', 'Request is missing Authentication Token')
  }
  for (const part of ['Credential', 'Signature', 'SignedHeaders']) {
    if (!header.includes(`${part}=`)) {
      throw new DynamoDbError('IncompleteSignatureException', `Authorization header requires '${part}' parameter.`)
    }
  }
}

function internalError(error: unknown): DynamoDbError {
  return new DynamoDbError('InternalServerError', String(error), {}, 500)
}

function send(response: ServerResponse, statusCode: number, value: JsonObject): void {
  const body = Buffer.from(JSON.stringify(value))
  response.writeHead(statusCode, {
    'content-type': 'application/x-amz-json-1.0',
    'content-length': body.length,
    'x-amz-crc32': crc32(body),
    'x-amzn-requestid': randomUUID(),
  })
  response.end(body)
}
