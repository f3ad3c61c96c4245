import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHandler } from '../../lambdas/memory/handler.ts'
import { BASE, ROUTES } from '../../lambdas/memory/routes.ts'
import type { ApiHandler } from '../../lambdas/shared/api.ts'
import { ROLES, type Role } from '../../src/keys/types.ts'
import { type Engines, startEngines } from '../support/engines.ts'
import { call, type EventInput, errorOf } from './support/events.ts'

let engines: Engines
let handler: ApiHandler
beforeAll(async () => {
  engines = await startEngines()
  handler = createHandler(engines)
})
afterAll(() => engines.stop())

const params = { task_id: 't', turn: '1', name: 'a', upload_id: 'u' }

/** A request of a route, with what its path needs. */
function request(method: string, resource: string, more: Partial<EventInput> = {}): EventInput {
  const pathParameters = { ...params, ...more.pathParameters }
  const used = Object.entries(pathParameters).filter(([name]) => resource.includes(`{${name}}`))
  const path = resource.replace(/\{(\w+)\}/g, (_braced, name) => String(Reflect.get(pathParameters, name)))
  return { method, path, resource, body: null, ...more, pathParameters: Object.fromEntries(used) }
}

const TASK = `${BASE}/tasks/{task_id}`
const TURN = `${TASK}/turns/{turn}`
type Who = NonNullable<EventInput['principal']>

function putTurn(task_id: string, principal: Who, more: Partial<EventInput> = {}) {
  return call(
    handler,
    request('PUT', TURN, { pathParameters: { task_id }, principal, role: 'writer', body: {}, ...more }),
  )
}

function remove(task_id: string, principal: Who, role: Role, more: Partial<EventInput> = {}) {
  return call(handler, request('DELETE', TASK, { pathParameters: { task_id }, principal, role, ...more }))
}

const alice: Who = { kind: 'user', id: 'alice' }
const bob: Who = { kind: 'user', id: 'bob' }
const keyAlice: Who = { kind: 'key', id: 'alice' }

const routes = ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const)

describe('rights', () => {
  it.each(routes)('of %s begin at its role', async (_name, { method, path, role: least }) => {
    for (const role of ROLES) {
      // Refused for its parameters, where it is let in at all.
      const answer = await call(
        handler,
        request(method, path, { role, query: { unknown: ['x'] }, pathParameters: { task_id: '.', turn: 'x' } }),
      )
      const wrong = path.includes('{') || method === 'GET' ? 400 : 200
      expect(answer.status, role).toBe(ROLES.indexOf(role) >= ROLES.indexOf(least) ? wrong : 403)
    }
  })

  it.each(routes)('of %s are asked of an identity provider as its permission', (_name, { method, permission }) => {
    const scope = method === 'GET' ? 'read' : method === 'DELETE' ? 'delete' : 'write'
    expect(permission).toBe(`sandbox-memory#${scope}`)
  })

  it.each(routes)('of %s are told from each other before anything is looked at', async (_name, { method, path }) => {
    const bad = { pathParameters: { task_id: '.' }, query: { unknown: ['x'] }, body: 'no JSON' }
    const status = async (more: Partial<EventInput>) =>
      (await call(handler, request(method, path, { ...bad, ...more }))).status
    expect(await status({ headers: { 'X-Sandbox-Tenant-Id': undefined }, bindings: [] })).toBe(400)
    expect(await status({ bindings: [{ tenant: 'acme', project: 'other' }] })).toBe(403)
    expect(await status({ bindings: [] })).toBe(403)
  })
})

describe('a writer', () => {
  it('deletes the tasks that it began, and no others', async () => {
    await putTurn('mine', alice)
    const refused = await remove('mine', bob, 'writer')
    expect(refused.status).toBe(403)
    expect(errorOf(refused)).toStrictEqual({ code: 'forbidden', message: expect.any(String) })
    expect((await call(handler, request('GET', TURN, { pathParameters: { task_id: 'mine' } }))).status).toBe(200)
    expect((await remove('mine', alice, 'writer')).status).toBe(204)
    expect((await remove('mine', bob, 'writer')).status).toBe(204)
  })

  it('writes to the tasks of others, which does not make them its own', async () => {
    await putTurn('shared', alice)
    expect((await putTurn('shared', bob)).status).toBe(200)
    expect((await remove('shared', bob, 'writer')).status).toBe(403)
    const task = await call(handler, request('GET', TASK, { pathParameters: { task_id: 'shared' }, role: 'viewer' }))
    expect(task.body).toMatchObject({ created_by: 'alice' })
  })

  it('that is a user is not the key of the same id', async () => {
    await putTurn('of-user', alice)
    expect((await remove('of-user', keyAlice, 'writer')).status).toBe(403)
    await putTurn('of-key', keyAlice)
    expect((await remove('of-key', alice, 'writer')).status).toBe(403)
    expect((await remove('of-key', keyAlice, 'writer')).status).toBe(204)
  })

  it('who begins a deleted task anew is the one who began it', async () => {
    await putTurn('again', alice)
    await remove('again', alice, 'writer')
    await putTurn('again', bob)
    expect((await remove('again', alice, 'writer')).status).toBe(403)
    expect((await remove('again', bob, 'writer')).status).toBe(204)
  })
})

it.each(['project_admin', 'platform'] as const)('a %s deletes any task', async (role) => {
  await putTurn(`any-${role}`, alice)
  expect((await remove(`any-${role}`, bob, role)).status).toBe(204)
})

it('an owner with a colon in its id is shown whole', async () => {
  await putTurn('colon', { kind: 'user', id: 'auth0:a:b' })
  const task = await call(handler, request('GET', TASK, { pathParameters: { task_id: 'colon' } }))
  expect(task.body).toMatchObject({ created_by: 'auth0:a:b' })
})

it('a project sees and deletes nothing of another, and is told of it as of what never was', async () => {
  await putTurn('t', alice)
  for (const [tenant, project] of [
    ['acme', 'other'],
    ['other', 'web'],
    ['ACME', 'web'],
  ]) {
    const headers = { 'X-Sandbox-Tenant-Id': tenant, 'X-Sandbox-Project-Id': project }
    const elsewhere = async (method: string, resource: string, task_id = 't') =>
      call(handler, request(method, resource, { headers, pathParameters: { task_id } }))
    for (const resource of [TASK, TURN, `${TURN}/artifacts/{name}`]) {
      const foreign = await elsewhere('GET', resource)
      expect(foreign.status).toBe(404)
      expect(foreign.body).toStrictEqual((await elsewhere('GET', resource, 'never')).body)
    }
    expect((await elsewhere('GET', `${BASE}/tasks`)).body).toStrictEqual({ tasks: [], next_page: null })
    expect((await remove('t', bob, 'writer', { headers })).status).toBe(204)
    await putTurn('t', bob, { headers })
    expect((await remove('t', bob, 'writer', { headers })).status).toBe(204)
  }
  expect((await call(handler, request('GET', TURN))).status).toBe(200)
})
