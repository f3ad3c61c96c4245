import { createInstanceStore } from '../../src/instances/store.ts'
import type { SandboxInstanceStore } from '../../src/instances/types.ts'
import { action } from '../shared/action.ts'
import { json, noContent } from '../shared/answer.ts'
import { type ApiHandler, createApiHandler } from '../shared/api.ts'
import { bodyText } from '../shared/body-text.ts'
import type { HandlerConfig } from '../shared/config.ts'
import { fixedJson } from '../shared/fixed-json.ts'
import type { Call } from '../shared/request.ts'
import { ROUTES } from './routes.ts'
import { byKey, upsert } from './schemas.ts'

/** The instances service. */
export function createHandler(config: HandlerConfig): ApiHandler {
  return createServiceHandler(({ scope }) => createInstanceStore({ ...config, scope }))
}

/** The same over any store. */
export function createServiceHandler(instances: (call: Call) => SandboxInstanceStore): ApiHandler {
  return createApiHandler({
    routes: ROUTES,
    body: [bodyText(), fixedJson()],
    actions: {
      get: action(byKey, async ({ key }, call) => json(200, { record: await instances(call).get(key) })),
      upsert: action(upsert, async ({ record }, call) => {
        await instances(call).upsert(record)
        return noContent()
      }),
      delete: action(byKey, async ({ key }, call) => {
        await instances(call).delete(key)
        return noContent()
      }),
    },
  })
}
