import { describe, expect, it } from 'vitest'
import { readBindings, readRole } from '../../src/access/claims.ts'
import { checkOidc } from '../../src/access/settings.ts'
import type { Role } from '../../src/keys/types.ts'

const settings = { issuer: 'https://sso.test/realms/acme', audience: 'api', clientId: 'sandkeep' }
const config = checkOidc(settings)

describe('the role', () => {
  const realm = (...roles: unknown[]) => ({ realm_access: { roles } })
  const client = (id: string, ...roles: unknown[]) => ({ resource_access: { [id]: { roles } } })

  it.each<[string, Record<string, unknown>, Role | null]>([
    ['of the realm', realm('writer'), 'writer'],
    ['of the client', client('sandkeep', 'viewer'), 'viewer'],
    ['that is the greatest of one place', realm('viewer', 'project_admin', 'writer'), 'project_admin'],
    ['that is the greatest of both places', { ...realm('writer'), ...client('sandkeep', 'platform') }, 'platform'],
    ['that is the greatest, the other way round', { ...realm('writer'), ...client('sandkeep', 'viewer') }, 'writer'],
    ['is none of another client', client('account', 'platform'), null],
    ['is none of the audience', client('api', 'platform'), null],
    ['is none of an unknown name', realm('admin', 'Writer', 'writer ', 'offline_access'), null],
    ['is none without roles', {}, null],
  ])('%s', (_what, claims, role) => {
    expect(readRole(claims, config)).toBe(role)
  })

  it.each([
    { realm_access: 'writer' },
    { realm_access: { roles: 'writer' } },
    { realm_access: { roles: { writer: true } } },
    { realm_access: ['writer'] },
    { realm_access: null },
    { realm_access: { roles: [['writer'], { name: 'writer' }, 7, null] } },
    { realm_access: { roles: null } },
    { resource_access: { sandkeep: ['writer'] } },
    { resource_access: { sandkeep: { roles: 'writer' } } },
    { resource_access: 'sandkeep' },
    { resource_access: [{ sandkeep: { roles: ['writer'] } }] },
    { roles: ['writer'] },
  ])('is none where a claim is of another type: %j', (claims) => {
    expect(readRole(claims, config)).toBeNull()
  })

  it('is none that every object inherits', () => {
    for (const clientId of ['constructor', '__proto__', 'toString']) {
      expect(readRole({ resource_access: {} }, { ...config, clientId })).toBeNull()
    }
    expect(readRole(realm('constructor', '__proto__'), config)).toBeNull()
  })

  it('is what the mapping says, and then nothing else is', () => {
    const mapped = checkOidc({ ...settings, roles: { 'sandbox-reader': 'viewer', 'sandbox-lead': 'project_admin' } })
    expect(readRole(realm('sandbox-reader'), mapped)).toBe('viewer')
    expect(readRole({ ...realm('sandbox-reader'), ...client('sandkeep', 'sandbox-lead') }, mapped)).toBe(
      'project_admin',
    )
    expect(readRole(realm('platform', 'writer'), mapped)).toBeNull()
  })
})

describe('the projects', () => {
  it('are pairs, with * for all', () => {
    const claim = ['acme/web', 'acme/*', '*/shared', '*']
    expect(readBindings({ sandbox_projects: claim }, config)).toEqual([
      { tenant: 'acme', project: 'web' },
      { tenant: 'acme', project: '*' },
      { tenant: '*', project: 'shared' },
      { tenant: '*', project: '*' },
    ])
  })

  it.each([
    'acme/web',
    '*',
    { 'acme/web': true },
    { 0: 'acme/web', length: 1 },
    7,
    true,
    null,
    undefined,
    [['acme/web']],
    [{ tenant: 'acme', project: 'web' }],
    [null, 7],
    ['', '/', 'acme', 'acme/', '/web', 'acme/web/x', ' acme/web', 'acme/we b', 'acme/w*', '**/web', 'a\u0000/b', 'é/b'],
  ])('are none where the claim is of another form: %j', (claim) => {
    expect(readBindings({ sandbox_projects: claim }, config)).toEqual([])
  })

  it('are read from the claim that is set, which the token itself must have', () => {
    const other = checkOidc({ ...settings, projectsClaim: 'https://acme.test/projects' })
    expect(readBindings({ 'https://acme.test/projects': ['a/b'], sandbox_projects: ['c/d'] }, other)).toHaveLength(1)
    expect(readBindings({}, { projectsClaim: 'constructor' })).toEqual([])
  })
})
