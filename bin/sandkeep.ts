import { App, RemovalPolicy } from 'aws-cdk-lib'
import { SandkeepStack } from '../lib/index.ts'
import { oidcFromEnvironment } from '../src/access/settings.ts'

// cdk deploy                                   the stack Sandkeep, whose data outlives it
// cdk deploy -c stage=dev                      another one beside it: Sandkeep-dev
// cdk deploy -c stage=pr-7 -c throwaway=true   one that takes its data along when it is destroyed
// cdk deploy -c anthropicSecret=NAME           with the proxy of Anthropic's API, whose key is in this secret
//            -c filesBackend=anthropic         and with uploads that go on to Anthropic
// cdk deploy -c corsOrigins=https://a.example   whose pages may use files; several with spaces between
// SANDBOX_OIDC_ISSUER=https://… cdk deploy      with tokens of an identity provider: docs/access.md
const app = new App()
const KNOWN = ['stage', 'throwaway', 'anthropicSecret', 'filesBackend', 'corsOrigins']
// Those of the CDK itself have marks in their names. A misspelt one of ours would deploy something else than was asked for.
const unknown = Object.keys(app.node.getAllContext()).filter((name) => /^\w+$/.test(name) && !KNOWN.includes(name))
if (unknown.length > 0) {
  throw new Error(`There is no context value "${unknown[0]}". There are ${KNOWN.join(', ')}.`)
}

const stage = String(app.node.tryGetContext('stage') ?? 'prod')
const throwaway = String(app.node.tryGetContext('throwaway') ?? 'false')

const anthropicSecret: unknown = app.node.tryGetContext('anthropicSecret')
const filesBackend = String(app.node.tryGetContext('filesBackend') ?? 's3')
const corsOrigins = String(app.node.tryGetContext('corsOrigins') ?? '')

if (!/^[A-Za-z][A-Za-z0-9-]{0,99}$/.test(stage)) {
  throw new Error('The context value "stage" must be 1 to 100 letters, digits and hyphens, the first a letter.')
}
if (throwaway !== 'true' && throwaway !== 'false') {
  throw new Error('The context value "throwaway" must be true or false.')
}
if (filesBackend !== 's3' && filesBackend !== 'anthropic') {
  throw new Error('The context value "filesBackend" must be s3 or anthropic.')
}
if (throwaway === 'true' && stage === 'prod') throw new Error('The stage "prod" cannot be thrown away.')

const oidc = oidcFromEnvironment(process.env)
new SandkeepStack(app, stage === 'prod' ? 'Sandkeep' : `Sandkeep-${stage}`, {
  description: "Keeps checkpoints of AI agents' sandboxes.",
  removalPolicy: throwaway === 'true' ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
  ...(oidc && { oidc }),
  ...(typeof anthropicSecret === 'string' && { anthropicSecret }),
  filesBackend,
  corsOrigins: corsOrigins.split(' ').filter((origin) => origin !== ''),
})
