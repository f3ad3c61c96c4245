import { BASE } from '../../../lambdas/sandboxes/routes.ts'
import type { ApiHandler } from '../../../lambdas/shared/api.ts'
import { type Answered, call, type EventInput } from './events.ts'

/** Calls routes of the sandboxes service; the path is below the service's own, and may have a query. */
export function sandboxCaller(handler: ApiHandler, common: Partial<EventInput> = {}) {
  // biome-ignore lint/suspicious/noExplicitAny: the bodies of answers differ, and the tests look into them.
  return async (route: string, more: Partial<EventInput> = {}): Promise<Answered & { body: any }> => {
    const [method = '', path = ''] = route.split(' ')
    const { pathname, searchParams } = new URL(BASE + path, 'http://api.test')
    const query = Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]))
    return call(handler, {
      ...{ method, path: pathname, body: null, ...resourceOf(pathname) },
      ...(searchParams.size > 0 && { query }),
      ...common,
      ...more,
    })
  }
}

function resourceOf(pathname: string): Pick<EventInput, 'resource' | 'pathParameters'> {
  const [sandboxId, part, seq, more] = pathname.slice(BASE.length + 1).split('/')
  if (sandboxId === undefined || sandboxId === '' || sandboxId === 'uploads') return { resource: pathname }
  const names = [BASE, '{sandbox_id}', part, seq === undefined ? undefined : '{snapshot_seq}', more]
  return {
    resource: names.filter((name) => name !== undefined).join('/'),
    pathParameters: { sandbox_id: sandboxId, ...(seq !== undefined && { snapshot_seq: seq }) },
  }
}
