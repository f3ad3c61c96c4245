import { Lazy } from 'aws-cdk-lib'
import { describe, expect, it } from 'vitest'
import { checkOidc, type OidcSettings, oidcFromEnvironment, oidcToEnvironment } from '../../src/access/settings.ts'
import { resources, synth } from '../stack/synth.ts'

const issuer = 'https://sso.test/realms/acme'
const all: OidcSettings = {
  issuer,
  audience: 'api',
  clientId: 'sandkeep',
  jwksUri: 'https://sso.test/keys?set=1',
  uma: false,
  projectsClaim: 'projects',
  roles: { admin: 'platform' },
}

function authorizerEnvironment(oidc?: OidcSettings): Record<string, unknown> {
  const functions = resources(synth(oidc === undefined ? {} : { oidc }), 'AWS::Lambda::Function')
  const [, authorizer] = functions.find(([, { Metadata }]) => Metadata['sandkeep:function'] === 'authorizer') ?? []
  return authorizer?.Properties.Environment.Variables
}

describe('the settings', () => {
  it('come out of the environment as they went in', () => {
    expect(oidcFromEnvironment(oidcToEnvironment(all))).toEqual(all)
    const few = oidcFromEnvironment(oidcToEnvironment({ issuer, clientId: 'sandkeep' }))
    expect(JSON.parse(JSON.stringify(few))).toEqual({ issuer, clientId: 'sandkeep' })
  })

  it('are none without an issuer, and empty is not set', () => {
    expect(oidcFromEnvironment({})).toBeUndefined()
    expect(oidcFromEnvironment({ SANDBOX_OIDC_ISSUER: '', SANDBOX_OIDC_CLIENT_ID: 'x' })).toBeUndefined()
    expect(
      oidcFromEnvironment({ SANDBOX_OIDC_ISSUER: issuer, SANDBOX_OIDC_CLIENT_ID: 'x', SANDBOX_OIDC_UMA: '' })?.uma,
    ).toBeUndefined()
  })

  it('have defaults', () => {
    expect(checkOidc({ issuer, clientId: 'sandkeep' })).toMatchObject({ audience: 'sandkeep', uma: true })
    expect(checkOidc({ issuer, audience: 'api' })).toMatchObject({ clientId: 'api', projectsClaim: 'sandbox_projects' })
    expect(checkOidc(all)).toMatchObject({ audience: 'api', clientId: 'sandkeep', uma: false })
  })

  it.each([
    [{ issuer: undefined }, 'oidc.issuer'],
    [{ issuer: 'sso.test' }, 'oidc.issuer'],
    [{ issuer: 'ftp://sso.test' }, 'oidc.issuer'],
    [{ issuer: 'https://user:secret@sso.test' }, 'oidc.issuer'],
    [{ audience: undefined, clientId: undefined }, 'oidc.audience'],
    [{ audience: '' }, 'oidc.audience'],
    [{ clientId: 7 }, 'oidc.clientId'],
    [{ jwksUri: '/keys' }, 'oidc.jwksUri'],
    [{ uma: 'no' }, 'oidc.uma'],
    [{ projectsClaim: '' }, 'oidc.projectsClaim'],
    [{ roles: {} }, 'oidc.roles'],
    [{ roles: { admin: 'root' } }, 'oidc.roles'],
    [{ roles: ['writer'] }, 'oidc.roles'],
    [{ roles: null }, 'oidc.roles'],
  ])('are refused: %j', (change, field) => {
    expect(() => checkOidc({ ...all, ...change } as OidcSettings)).toThrow(
      expect.objectContaining({ status: 400, field }),
    )
  })

  it.each([
    ['SANDBOX_OIDC_UMA', 'yes'],
    ['SANDBOX_OIDC_ROLES', 'admin=platform'],
  ])('are refused in the environment: %s=%s', (name, text) => {
    expect(() => oidcFromEnvironment({ ...oidcToEnvironment(all), [name]: text })).toThrow(name)
  })
})

describe('the stack', () => {
  it('gives them to the function of the authorizer', () => {
    expect(authorizerEnvironment(all)).toMatchObject({
      SANDBOX_OIDC_ISSUER: issuer,
      SANDBOX_OIDC_AUDIENCE: 'api',
      SANDBOX_OIDC_CLIENT_ID: 'sandkeep',
      SANDBOX_OIDC_JWKS_URI: 'https://sso.test/keys?set=1',
      SANDBOX_OIDC_UMA: 'false',
      SANDBOX_OIDC_PROJECTS_CLAIM: 'projects',
      SANDBOX_OIDC_ROLES: '{"admin":"platform"}',
    })
    expect(JSON.stringify(authorizerEnvironment())).not.toContain('OIDC')
  })

  it('refuses wrong ones at once, unless they are known at the deployment only', () => {
    expect(() => authorizerEnvironment({ issuer: 'sso.test', audience: 'api' })).toThrow('oidc.issuer')
    const later = Lazy.string({ produce: () => issuer })
    expect(authorizerEnvironment({ issuer: later, audience: 'api' })).toMatchObject({ SANDBOX_OIDC_ISSUER: issuer })
  })
})
