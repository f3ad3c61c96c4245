import type { APIGatewayProxyResult } from 'aws-lambda'
import { stringifyJson } from '../../src/json.ts'

// What is kept here is private and changes with each write.
const HEADERS = { 'cache-control': 'no-store' }

/** An answer with a JSON body. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): APIGatewayProxyResult {
  return jsonText(status, stringifyJson(body), headers)
}

/** An answer with a body that is the text of JSON already. */
export function jsonText(status: number, body: string, headers: Record<string, string> = {}): APIGatewayProxyResult {
  return {
    statusCode: status,
    headers: { ...HEADERS, 'content-type': 'application/json', ...headers },
    body,
    isBase64Encoded: false,
  }
}

export function noContent(): APIGatewayProxyResult {
  return { statusCode: 204, headers: { ...HEADERS }, body: '', isBase64Encoded: false }
}
