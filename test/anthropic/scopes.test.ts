import pMap from 'p-map'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FileScope } from '../../src/files/types.ts'
import { text } from '../ai/support/messages.ts'
import { request, startWorld, type Who, type World } from './support/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
  world.endpoint.replyElse({ content: [text('hi')] })
})
afterAll(() => world.stop())
beforeEach(() => {
  world.endpoint.requests.length = 0
  world.endpoint.fileRequests.length = 0
})

const apps = ['acme', 'umbrella'].flatMap((tenant) => ['web', 'shop'].map((project) => ({ tenant, project })))
/** Everybody: two users of each app, in both scopes. */
const everybody = apps.flatMap((app) =>
  ['u1', 'u2'].flatMap((user) => (['user', 'app'] as const).map((scope) => ({ app, user, scope }))),
)
const nameOf = ({ app, user, scope }: Who) => `${app?.tenant}-${app?.project}-${user}-${scope}`
const isUsers = (owner: Who, caller: Who) => owner.app === caller.app && owner.user === caller.user
const isOfApp = (owner: Who, caller: Who) => owner.app === caller.app && owner.scope === 'app'
const sees = (owner: Who, caller: Who) => isOfApp(owner, caller) || isUsers(owner, caller)
const source = (file_id: string) => ({ type: 'file', file_id })

/** Each way in which a request may name what an owner has, and who may. */
const ways: Record<string, { body: (id: string) => object; allowed: (owner: Who, caller: Who) => boolean }> = {
  container: {
    body: (id) => request('x', { container: `container_${id}` }),
    allowed: (owner, caller) => owner.scope === caller.scope && sees(owner, caller),
  },
  'container in an object': {
    body: (id) => request('x', { container: { id: `container_${id}`, skills: [] } }),
    allowed: (owner, caller) => owner.scope === caller.scope && sees(owner, caller),
  },
  ...Object.fromEntries(
    Object.entries({
      upload: (id: string) => [{ type: 'container_upload', file_id: id }],
      document: (id: string) => [{ type: 'document', source: source(id) }],
      image: (id: string) => [{ type: 'image', source: source(id) }],
      'in a result': (id: string) => [{ type: 'tool_result', content: [{ type: 'image', source: source(id) }] }],
    }).map(([name, blocks]) => [
      name,
      {
        body: (id: string) => request(blocks(`file_${id}`)),
        allowed: (owner: Who, caller: Who) => sees(owner, caller) && (caller.scope === 'user' || owner.scope === 'app'),
      },
    ]),
  ),
  echo: {
    body: (id) => ({
      model: 'm',
      messages: [
        {
          role: 'assistant',
          content: [
            {
              type: 'bash_code_execution_tool_result',
              tool_use_id: 's1',
              content: { content: [{ type: 'bash_code_execution_output', file_id: `file_${id}` }] },
            },
          ],
        },
        { role: 'user', content: 'x' },
      ],
    }),
    allowed: sees,
  },
}

const notFound = JSON.stringify({
  type: 'error',
  error: { type: 'not_found_error', message: 'The request names a container or a file that does not exist.' },
})

test('the messages of everybody, with what everybody has', { timeout: 300_000 }, async () => {
  for (const owner of everybody) {
    const registry = world.registry(owner)
    await registry.addContainer(`container_${nameOf(owner)}`, owner.scope)
    await registry.addFile(`file_${nameOf(owner)}`, owner.scope)
  }
  const cases = everybody.flatMap((caller) =>
    [...everybody, undefined].flatMap((owner) => Object.keys(ways).map((way) => ({ caller, owner, way }))),
  )
  let allowed = 0
  await pMap(
    cases,
    async ({ caller, owner, way }) => {
      const { body, allowed: allows } = ways[way] ?? { body: () => ({}), allowed: () => false }
      const response = await world.post(caller, body(owner ? nameOf(owner) : 'unknown'))
      const isAllowed = owner !== undefined && allows(owner, caller)
      const answered = await response.text()
      const what = `${nameOf(caller)} names ${owner && nameOf(owner)} as ${way}`
      expect([response.status, isAllowed ? '' : answered], what).toEqual(isAllowed ? [200, ''] : [404, notFound])
      if (isAllowed) allowed += 1
    },
    { concurrency: 8 },
  )
  expect(allowed).toBeGreaterThan(0)
  // Nothing went to the API of what was refused.
  expect(world.endpoint.requests).toHaveLength(allowed)
})

test('files and containers of everybody, read and listed by everybody', { timeout: 300_000 }, async () => {
  const made: Array<{ owner: Who & { scope: FileScope }; id: string }> = []
  for (const owner of everybody) {
    const { id } = world.endpoint.files.add('out.txt', 'x')
    await world.registry(owner).addFile(id, owner.scope)
    made.push({ owner, id })
  }
  const bodies = new Set<string>()
  await pMap(
    everybody,
    async (caller) => {
      for (const { owner, id } of made) {
        const seen = sees(owner, caller)
        for (const path of [`/sandbox/files/v1/${id}`, `/sandbox/files/v1/${id}/content`]) {
          const response = await world.get(caller, path)
          const answered = await response.text()
          expect(response.status, `${nameOf(caller)} reads ${nameOf(owner)}`).toBe(seen ? 200 : 404)
          if (!seen) bodies.add(answered)
        }
        if (seen) continue
        const url = `${world.api.url}/sandbox/files/v1/${id}`
        const deleted = await world.fetch(url, { method: 'DELETE', headers: world.headers(caller) })
        expect(deleted.status).toBe(404)
        bodies.add(await deleted.text())
      }
      bodies.add(await (await world.get(caller, '/sandbox/files/v1/file_unknown')).text())
      const containers = await world.get(caller, '/sandbox/anthropic/v1/containers?limit=100')
      const { data } = (await containers.json()) as { data: { id: string }[] }
      const expected = everybody.filter((owner) => sees(owner, caller)).map((owner) => `container_${nameOf(owner)}`)
      expect(data.map(({ id }) => id).sort()).toEqual(expected.sort())
    },
    { concurrency: 4 },
  )
  expect([...bodies]).toHaveLength(1)
  expect(world.endpoint.files.stored).toHaveLength(made.length)
  const asked = new Set(world.endpoint.fileRequests.map(({ method }) => method))
  expect([...asked]).toEqual(['GET'])
})

test('what was deleted is an echo for 30 days, and nothing else', async () => {
  const who = { app: { tenant: 'later', project: 'p' } }
  const { id } = world.endpoint.files.add('out.txt', 'x')
  await world.registry(who).addFile(id, 'user')
  const named = id.replace('file_', '')
  const statusOf = async (way: string) => (await world.post(who, ways[way]?.body(named) ?? {})).status
  expect([await statusOf('echo'), await statusOf('upload')]).toEqual([200, 200])
  const headers = world.headers(who)
  expect((await world.fetch(`${world.api.url}/sandbox/files/v1/${id}`, { method: 'DELETE', headers })).status).toBe(204)
  expect([await statusOf('echo'), await statusOf('upload')]).toEqual([200, 404])
  world.clock.now += 30 * 86_400_000 - 1
  expect(await statusOf('echo')).toBe(200)
  world.clock.now += 1
  expect(await statusOf('echo')).toBe(404)
})
