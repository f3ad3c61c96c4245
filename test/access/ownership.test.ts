import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { AUDIENCE, type IdentityProvider, startIdentityProvider } from './support/identity-provider.ts'

const member = (role: string) => ({
  claims: { resource_access: { [AUDIENCE]: { roles: [role] } }, sandbox_projects: ['acme/web'] },
  permissions: ['sandbox-memory#read', 'sandbox-memory#write', 'sandbox-memory#delete'],
})

let idp: IdentityProvider
let stack: LocalStack
beforeAll(async () => {
  idp = await startIdentityProvider({ alice: member('writer'), bob: member('writer'), lead: member('project_admin') })
  stack = await startLocalStack({ oidc: { issuer: idp.issuer, audience: AUDIENCE } })
})
afterAll(async () => {
  await stack.stop()
  await idp.stop()
})

const as = (user: string, apiKey?: string): SandkeepClient => {
  const token = () => idp.token(user)
  return createClient({ url: stack.url, tenant: 'acme', project: 'web', token, apiKey })
}

it('makes the user of the token the owner of a task, which other writers add to and only admins delete', async () => {
  await as('alice').memory.putTurn({ taskId: 'task', turn: 1, summaryMd: 'Done.' })
  await as('bob').memory.putTurn({ taskId: 'task', turn: 2, summaryMd: 'More.' })
  expect(await as('bob').memory.getTask('task')).toMatchObject({ createdBy: 'alice', turnCount: 2 })
  await expect(as('bob').memory.deleteTask('task')).rejects.toMatchObject({ status: 403, code: 'forbidden' })
  await as('alice').memory.deleteTask('task')
  expect(await as('alice').memory.getTask('task')).toBeNull()

  await as('alice').memory.putTurn({ taskId: 'task', turn: 1 })
  await as('lead').memory.deleteTask('task')
  expect(await as('lead').memory.getTask('task')).toBeNull()
})

it('makes the user of the token the owner beside a key too', async () => {
  await as('alice', stack.apiKey).memory.putTurn({ taskId: 'both', turn: 1 })
  expect(await as('bob').memory.getTask('both')).toMatchObject({ createdBy: 'alice' })
  await expect(as('bob', stack.apiKey).memory.deleteTask('both')).rejects.toMatchObject({ status: 403 })
})
