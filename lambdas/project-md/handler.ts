import * as z from 'zod'
import { createMemoryStore } from '../../src/memory/store.ts'
import type { MemoryStore } from '../../src/memory/types.ts'
import { action } from '../shared/action.ts'
import type { HandlerConfig } from '../shared/config.ts'
import { query } from '../shared/query.ts'
import type { Call } from '../shared/request.ts'
import { createStreamHandler, type StreamHandler } from '../shared/stream.ts'
import { ROUTES } from './routes.ts'

const HEADERS = { 'content-type': 'text/markdown; charset=utf-8', 'cache-control': 'no-store' }

/** The memory of a project as one document. */
export function createHandler(config: HandlerConfig): StreamHandler {
  return createServiceHandler(({ scope }) => createMemoryStore({ ...config, scope }))
}

/** The same over any store. */
export function createServiceHandler(memory: (call: Call) => Pick<MemoryStore, 'projectMd'>): StreamHandler {
  return createStreamHandler({
    routes: ROUTES,
    body: [query()],
    actions: {
      projectMd: action(z.strictObject({}), async (_none, call) => ({
        statusCode: 200,
        headers: HEADERS,
        body: memory(call).projectMd(),
      })),
    },
  })
}
