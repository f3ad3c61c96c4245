import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import pMap from 'p-map'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { userOwner } from '../../src/files/items.ts'
import { createFileRegistry } from '../../src/files/registry.ts'
import { APP_OWNER, type FileScope } from '../../src/files/types.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { AUDIENCE, type IdentityProvider, startIdentityProvider } from '../access/support/identity-provider.ts'
import { startUpstream, UPSTREAM_KEY, type Upstream } from '../files/support/anthropic.ts'
import { send } from '../store/support/send.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { type FileAnswer, type FileCall, field, fileCaller, filePart, rawForm } from './support/files.ts'

const APPS: readonly Scope[] = ['tenant-1', 'tenant-2'].flatMap((tenant) =>
  ['project-1', 'project-2'].map((project) => ({ tenant, project })),
)
/** The app's owner is a user too, whom no header and no token names. */
const USERS = ['ann', 'bob', APP_OWNER] as const
/** Requests that a busy machine answers in time. */
const AT_ONCE = 4

const SCOPES: readonly FileScope[] = ['user', 'app']

interface Owned {
  app: Scope
  user: string
  scope: FileScope
}

const OWNERS: readonly Owned[] = APPS.flatMap((app) =>
  USERS.flatMap((user) => SCOPES.map((scope) => ({ app, user, scope }))),
)

/** Each of two users of an app calls in two ways, the owner in one. */
const CALLERS = APPS.length * 5
/** The owners of files whose files one user sees: itself, and all of its app with scope app. */
const SEEN = 1 + USERS.length

let idp: IdentityProvider
let upstream: Upstream
const stacks = new Map<string, LocalStack>()
beforeAll(async () => {
  const user = {
    claims: { realm_access: { roles: ['writer'] }, sandbox_projects: ['*'] },
    permissions: [],
  }
  idp = await startIdentityProvider({ ann: user, bob: user })
  upstream = await startUpstream()
  // Decisions about routes are no concern of this table, and would come by the thousand.
  const oidc = { issuer: idp.issuer, audience: AUDIENCE, uma: false }
  const { baseUrl } = upstream.connection
  stacks.set('s3', await startLocalStack({ oidc }))
  stacks.set(
    'anthropic',
    await startLocalStack({ oidc, filesBackend: 'anthropic', anthropic: { baseUrl, apiKey: UPSTREAM_KEY } }),
  )
})
afterAll(async () => {
  for (const stack of stacks.values()) await stack.stop()
  await upstream.stop()
  await idp.stop()
})

function stackOf(backend: string): LocalStack {
  const stack = stacks.get(backend)
  if (!stack) throw new Error('There is no such stack.')
  return stack
}

/** Calls as a user of an app, whom an API key names. */
function byKey(backend: string, app: Scope, user: string): FileCall {
  const stack = stackOf(backend)
  const named = user === APP_OWNER ? undefined : { 'x-sandbox-user-id': user }
  return fileCaller(stack, app, { 'x-api-key': stack.apiKey, ...named })
}

/** Calls as a user of an app, whom a token names. */
async function byToken(backend: string, app: Scope, user: string): Promise<FileCall> {
  return fileCaller(stackOf(backend), app, { authorization: `Bearer ${await idp.token(user)}` })
}

function sees(caller: Owned | Omit<Owned, 'scope'>, file: Owned): boolean {
  const sameApp = caller.app.tenant === file.app.tenant && caller.app.project === file.app.project
  return sameApp && (file.scope === 'app' || caller.user === file.user)
}

/** A file that can be downloaded, of a sandbox of ours or of a hosted one. */
async function makeOutput(backend: string, { app, user, scope }: Owned): Promise<string> {
  if (backend === 's3') {
    const form = rawForm(filePart(), field('scope', scope), field('origin', 'sandbox'))
    const made = await byKey(backend, app, user)('POST', '', { form })
    return made.json.id
  }
  const stack = stackOf(backend)
  const { region, credentials, dynamodbEndpoint: endpoint, tableName } = stack
  const dynamodb = new DynamoDBClient({ endpoint, region, credentials: { ...credentials } })
  const owner = user === APP_OWNER ? APP_OWNER : userOwner(user)
  const id = upstream.output('out.csv', Buffer.from('hello'))
  await createFileRegistry({ dynamodb, tableName, scope: app, user: owner }).register(id, scope)
  dynamodb.destroy()
  return id
}

/** What of an answer may differ between one request and the next. */
const OF_THE_REQUEST = new Set(['date', 'x-request-id', 'x-amzn-requestid', 'x-amzn-trace-id'])

function told({ status, headers, text }: FileAnswer): unknown {
  return { status, text, headers: [...headers].filter(([name]) => !OF_THE_REQUEST.has(name)).sort() }
}

describe.each(['s3', 'anthropic'])('with %s', (backend) => {
  it('each user of each app sees and changes just what is theirs, by every route', async () => {
    const files: (Owned & { id: string; uploaded: string; uploadId: string })[] = []
    for (const owned of OWNERS) {
      const call = byKey(backend, owned.app, owned.user)
      const id = await makeOutput(backend, owned)
      const made = await call('POST', '', { form: rawForm(filePart(), field('scope', owned.scope)) })
      const json = { filename: 'a', mime_type: 'a/b', size_bytes: 5, scope: owned.scope }
      const upload = await call('POST', '/uploads', { json })
      await send({ ...upload.json, expiresAt: 0 }, Buffer.from('hello'))
      files.push({ ...owned, id, uploaded: made.json.id, uploadId: upload.json.upload_id })
    }
    // Afterwards each file has been asked about where that is needed.
    for (const app of APPS) for (const user of USERS) await byKey(backend, app, user)('GET', '?limit=100')

    let refusals = 0
    let expected: unknown
    const expectTold = async (call: FileCall, file: Owned & { id: string }, id: string) => {
      expect((await call('GET', `/${id}`)).json).toMatchObject({ id })
      const content = await call('GET', `/${id}/content`)
      expect(content.status).toBe(id === file.id ? 200 : 409)
      if (id === file.id) expect(content.text).toBe('hello')
    }
    const expectRefused = async (call: FileCall, id: string) => {
      refusals += 1
      const answers = await Promise.all([
        call('GET', `/${id}`),
        call('DELETE', `/${id}`),
        call('GET', `/${id}/content`),
      ])
      const [got, deleted, content] = answers.map(told)
      expect([got, deleted]).toEqual([expected, expected])
      expect(content).toEqual(expectedContent)
    }
    let expectedContent: unknown
    for (const app of APPS) {
      for (const user of USERS) {
        const callers = [byKey(backend, app, user)]
        if (user !== APP_OWNER) callers.push(await byToken(backend, app, user))
        for (const call of callers) {
          const unknown = [await call('GET', '/file_0'), await call('GET', '/file_0/content')].map(told)
          expected ??= unknown[0]
          expectedContent ??= unknown[1]
          expect(unknown).toEqual([expected, expectedContent])
          const [seen = [], others = []] = [true, false].map((is) =>
            files.filter((file) => sees({ app, user }, file) === is),
          )
          const visible = seen.flatMap((file) => [file.id, file.uploaded].map((id) => ({ file, id })))
          await pMap(visible, ({ file, id }) => expectTold(call, file, id), { concurrency: AT_ONCE })
          upstream.requests.length = 0
          const refused = others.flatMap(({ id, uploaded }) => [id, uploaded])
          await pMap(refused, (id) => expectRefused(call, id), { concurrency: AT_ONCE })
          expect(upstream.requests).toEqual([])
          const list = await call('GET', '?limit=100')
          const ids = seen.flatMap(({ id, uploaded }) => [id, uploaded])
          expect(list.json.data.map(({ id }: { id: string }) => id).sort()).toEqual(ids.sort())
        }
      }
    }
    expect(refusals).toBe(CALLERS * (OWNERS.length - SEEN) * 2)

    // Nobody but who began it completes an upload, not even one of a file for all.
    for (const file of files) {
      const complete = `/uploads/${file.uploadId}/complete`
      const others = APPS.flatMap((app) => USERS.map((user) => ({ app, user }))).filter(
        ({ app, user }) => app !== file.app || user !== file.user,
      )
      const refused = await Promise.all(others.map(({ app, user }) => byKey(backend, app, user)('POST', complete)))
      for (const answer of refused) {
        expect(answer).toMatchObject({ status: 404, json: { error: { message: 'There is no such upload.' } } })
      }
      expect((await byKey(backend, file.app, file.user)('POST', complete)).status).toBe(201)
    }

    // What a user sees it may delete; then it is unknown to all.
    for (const file of files) {
      const bob = byKey(backend, file.app, 'bob')
      const user = file.scope === 'app' ? bob : byKey(backend, file.app, file.user)
      expect((await user('DELETE', `/${file.id}`)).status).toBe(204)
      for (const caller of USERS) {
        const call = byKey(backend, file.app, caller)
        expect(told(await call('GET', `/${file.id}`))).toEqual(expected)
        expect(told(await call('DELETE', `/${file.id}`))).toEqual(expected)
      }
    }
  }, 240_000)

  it('a token says who the user is, whatever the header says', async () => {
    const app = { tenant: 'tenant-1', project: 'project-1' }
    const call = await byToken(backend, app, 'ann')
    expect((await call('GET', '', { headers: { 'x-sandbox-user-id': 'ann' } })).status).toBe(200)
    expect((await call('GET', '', { headers: { 'x-sandbox-user-id': 'bob' } })).status).toBe(403)
    const both = { 'x-api-key': stackOf(backend).apiKey, 'x-sandbox-user-id': 'bob' }
    expect((await call('GET', '', { headers: both })).status).toBe(403)
  })
})
