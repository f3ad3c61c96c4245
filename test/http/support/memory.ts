import type { Scope } from '../../../src/tenancy/scope.ts'
import type { TestApi } from './api.ts'

export const BASE = '/sandbox/memory/v1'

export interface Sent {
  /** An object becomes JSON; the rest is sent as it is. */
  body?: object | string | Uint8Array
  headers?: Record<string, string>
}

export interface Answered {
  status: number
  headers: Headers
  bytes: Buffer
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: the bodies of answers differ, and the tests look into them.
  json: any
}

export type Call = (method: string, path: string, sent?: Sent) => Promise<Answered>

/** Calls of the memory's routes in one scope; the path is below the service's own. */
export function memoryCaller(api: Pick<TestApi, 'fetch' | 'url'>, apiKey: string, scope: Scope): Call {
  return async (method, path, { body, headers = {} } = {}) => {
    const isJson = body !== undefined && typeof body === 'object' && !(body instanceof Uint8Array)
    const response = await api.fetch(api.url + BASE + path, {
      method,
      redirect: 'manual',
      headers: {
        ...((isJson || typeof body === 'string') && { 'content-type': 'application/json' }),
        'x-api-key': apiKey,
        'x-sandbox-tenant-id': scope.tenant,
        'x-sandbox-project-id': scope.project,
        ...headers,
      },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as string | Uint8Array<ArrayBuffer>) }),
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    const text = bytes.toString()
    const isAnswer = response.headers.get('content-type') === 'application/json' && text !== ''
    return { status: response.status, headers: response.headers, bytes, text, json: isAnswer ? parse(text) : undefined }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // An artifact of the type of JSON may hold anything.
    return undefined
  }
}
