import { type ClientOptions, createClient, type SandkeepClient } from '../../client/index.ts'

/** What a scripted server does with one request: an answer, or a failure to throw. */
export type Step = Response | Error | ((request: Request) => Response | Error | Promise<Response>)

export interface Scripted {
  client: SandkeepClient
  /** What was sent, in order. */
  sent: Array<{ method: string; url: string; headers: Headers; redirect: string; body: string }>
}

/** A client whose requests are answered step by step. */
export function scripted(steps: Step[], options: Partial<ClientOptions> = {}): Scripted {
  const sent: Scripted['sent'] = []
  const left = [...steps]
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    sent.push({
      method: request.method,
      url: request.url,
      headers: request.headers,
      redirect: request.redirect,
      body: await request.clone().text(),
    })
    const step = left.shift()
    if (step === undefined) throw new Error(`The script has no answer to ${request.method} ${request.url}.`)
    const result = typeof step === 'function' ? await step(request) : step
    if (result instanceof Error) throw result
    return result
  }
  const client = createClient({
    url: 'http://api.test/api/',
    apiKey: 'key',
    tenant: 'acme',
    project: 'web',
    fetch,
    ...options,
  })
  return { client, sent }
}

export function answer(body: object, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })
}

export function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return answer({ error: { code, message: `refused: ${code}` } }, status, { 'x-request-id': 'request-1', ...headers })
}

/** What `fetch` throws when there is no connection, or it breaks. */
export function networkFailure(code: string): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
}
