import { createRegistry } from '../../../src/anthropic/registry.ts'
import { userOwner } from '../../../src/files/items.ts'
import { APP_OWNER, type FileScope } from '../../../src/files/types.ts'
import type { Scope } from '../../../src/tenancy/scope.ts'
import { type AnthropicEndpoint, startAnthropic } from '../../ai/support/anthropic-endpoint.ts'
import { startTestApi, type TestApi } from '../../http/support/api.ts'

export const UPSTREAM_KEY = 'sk-ant-upstream-secret'

/** Somebody who calls: of an app, as one of its users or as its owner, in a scope. */
export interface Who {
  app?: Scope
  user?: string
  scope?: FileScope
}

/** The proxy on real engines, before an endpoint of the Messages API. */
export interface World {
  api: TestApi
  endpoint: AnthropicEndpoint
  /** An app that nothing has used yet. */
  app: Scope
  /** Milliseconds since the epoch, for the proxy. */
  clock: { now: number }
  /** A key with every right. */
  apiKey: string
  fetch: typeof globalThis.fetch
  post(
    who: Who,
    body: object | string | Uint8Array,
    options?: RequestInit & { headers?: Record<string, string>; query?: string },
  ): Promise<Response>
  get(who: Who, path: string): Promise<Response>
  headers(who: Who): Record<string, string>
  registry(who: Who): ReturnType<typeof createRegistry>
  stop(): Promise<void>
}

export async function startWorld(): Promise<World> {
  const [api, endpoint] = await Promise.all([startTestApi(), startAnthropic()])
  const clock = { now: Date.parse('2026-06-01T00:00:00Z') }
  const now = () => clock.now
  const { fetch } = api.withOptions({
    now,
    anthropic: { baseUrl: endpoint.url, apiKey: async () => UPSTREAM_KEY },
    filesBackend: 'anthropic',
  })
  const apiKey = await api.createKey('platform')
  const world: World = {
    api,
    endpoint,
    app: api.engines.freshScope(),
    clock,
    apiKey,
    fetch,
    headers: ({ app = world.app, user, scope }) => ({
      'x-api-key': apiKey,
      'x-sandbox-tenant-id': app.tenant,
      'x-sandbox-project-id': app.project,
      ...(user !== undefined && { 'x-sandbox-user-id': user }),
      ...(scope !== undefined && { 'x-sandbox-scope': scope }),
    }),
    post: (who, body, { headers, query = '', ...options } = {}) =>
      fetch(`${api.url}/sandbox/anthropic/v1/messages${query}`, {
        method: 'POST',
        headers: { ...world.headers(who), 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
        ...options,
      }),
    get: (who, path) => fetch(`${api.url}${path}`, { headers: world.headers(who) }),
    registry: ({ app = world.app, user }) =>
      createRegistry({ ...api.engines, scope: app, user: user === undefined ? APP_OWNER : userOwner(user), now }),
    stop: async () => {
      await Promise.all([api.stop(), endpoint.stop()])
    },
  }
  return world
}

/** A request of a user, with blocks. */
export function request(content: unknown, more: object = {}) {
  return { model: 'claude-sonnet-4-5', max_tokens: 100, messages: [{ role: 'user', content }], ...more }
}

export const streaming = (content: unknown, more: object = {}) => request(content, { stream: true, ...more })
