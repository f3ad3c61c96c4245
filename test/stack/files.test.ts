import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, test } from 'vitest'
import { ROUTES as fileContentRoutes } from '../../lambdas/file-content/routes.ts'
import { ROUTES as fileRoutes } from '../../lambdas/files/routes.ts'
import { Sandkeep, type SandkeepProps } from '../../lib/index.ts'
import { readApi } from '../../local/gateway/read-api.ts'
import type { Template as GatewayTemplate } from '../../local/gateway/template.ts'
import { only, resources, synth } from './synth.ts'

const PAGE = 'https://app.example'
const SECRET = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf'

function variablesOf(template: Template, name: string): Record<string, unknown> {
  const found = resources(template, 'AWS::Lambda::Function').find(
    ([, { Metadata }]) => Metadata['sandkeep:function'] === name,
  )
  return found?.[1].Properties.Environment.Variables
}

describe('pages of other origins', () => {
  const without = synth()
  const template = synth({ corsOrigins: [PAGE, 'http://localhost:3000'] })
  const api = readApi(template.toJSON() as GatewayTemplate)
  const paths = new Set([...fileRoutes, ...fileContentRoutes].map(({ path }) => path))

  test('may ask what they may send to files without a key, and to nothing else unless it takes them', () => {
    for (const { path, methods } of api.resources) {
      if (!paths.has(path)) continue
      expect(methods.get('OPTIONS'), path).toMatchObject({ integration: { kind: 'lambda' } })
      expect(methods.get('OPTIONS'), path).not.toHaveProperty('authorizer')
      expect(methods.get('ANY')?.integration).toMatchObject({
        headers: { 'access-control-allow-origin': { kind: 'text', text: '*' } },
      })
    }
    const other = api.resources.find(({ path }) => path === '/sandbox/checkpoints/v1/head')
    expect(other?.methods.has('OPTIONS')).toBe(false)
  })

  test('may read what the gateway refuses', () => {
    for (const response of api.gatewayResponses.values()) {
      expect(response.headers['access-control-allow-origin']).toEqual({ kind: 'text', text: '*' })
    }
  })

  test('may use presigned requests', () => {
    expect(only(template, 'AWS::S3::Bucket').Properties.CorsConfiguration.CorsRules).toMatchObject([
      { AllowedMethods: ['PUT'], AllowedOrigins: [PAGE, 'http://localhost:3000'], AllowedHeaders: ['*'] },
      { AllowedMethods: ['GET', 'HEAD'], AllowedOrigins: ['*'], AllowedHeaders: ['*'] },
    ])
  })

  test('are known to the functions', () => {
    for (const name of ['files', 'file-content']) {
      expect(variablesOf(template, name)).toMatchObject({ SANDBOX_CORS_ORIGINS: `${PAGE} http://localhost:3000` })
    }
  })

  test('are none by default', () => {
    const { resources: plain, gatewayResponses } = readApi(without.toJSON() as GatewayTemplate)
    expect(plain.flatMap(({ methods }) => [...methods.keys()])).not.toContain('OPTIONS')
    for (const { headers } of gatewayResponses.values())
      expect(headers).not.toHaveProperty('access-control-allow-origin')
    expect(only(without, 'AWS::S3::Bucket').Properties).not.toHaveProperty('CorsConfiguration')
  })

  test.for(['app.example', `${PAGE}/`, `${PAGE}/x`, 'null', '', 'https://*.example', 'ftp://a'])(
    '%j is no origin',
    (origin) => {
      expect(() => synth({ corsOrigins: [origin] })).toThrow('corsOrigins')
    },
  )
})

describe('Anthropic', () => {
  function stackWith(make: (stack: Stack) => SandkeepProps): Template {
    const app = new App({ context: { 'aws:cdk:bundling-stacks': [] }, analyticsReporting: false })
    const stack = new Stack(app, 'Stack')
    new Sandkeep(stack, 'Sandkeep', make(stack))
    return Template.fromStack(stack)
  }

  const template = stackWith((stack) => ({
    anthropic: {
      secret: Secret.fromSecretCompleteArn(stack, 'Key', SECRET),
      baseUrl: 'https://proxy.example',
    },
    filesBackend: 'anthropic',
  }))

  test('is known by the ARN of its secret', () => {
    for (const name of ['files', 'file-content', 'sweep']) {
      expect(variablesOf(template, name)).toMatchObject({
        SANDBOX_ANTHROPIC_SECRET: SECRET,
        SANDBOX_ANTHROPIC_BASE_URL: 'https://proxy.example',
        SANDBOX_FILES_BACKEND: 'anthropic',
      })
    }
  })

  test('has its secret read by the functions that need it', () => {
    const readers = resources(template, 'AWS::IAM::Policy').filter(([, { Properties }]) =>
      JSON.stringify(Properties.PolicyDocument).includes('secretsmanager:GetSecretValue'),
    )
    for (const [, { Properties }] of readers) expect(JSON.stringify(Properties)).toContain(`"${SECRET}"`)
    const names = readers
      .flatMap(([, { Properties }]) => Properties.Roles.map(({ Ref }: { Ref: string }) => Ref))
      .join()
    for (const name of ['Files', 'FileContent', 'Sweep']) expect(names).toContain(`Sandkeep${name}Role`)
    for (const name of ['Keys', 'Checkpoints', 'Authorizer']) expect(names).not.toContain(`Sandkeep${name}Role`)
  })

  test('of another stack is read by its name too', () => {
    const named = stackWith((stack) => ({ anthropic: { secret: Secret.fromSecretNameV2(stack, 'Key', 'team/key') } }))
    const policies = JSON.stringify(named.findResources('AWS::IAM::Policy'))
    expect(policies).toContain('secret:team/key-??????')
  })

  test('gets no files without a key', () => {
    expect(() => synth({ filesBackend: 'anthropic' })).toThrow('anthropic')
  })
})
