import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { App } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeCaller } from '../../lambdas/shared/caller.ts'
import { SandkeepStack } from '../../lib/index.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { resources } from './synth.ts'

const names = [
  'anthropic',
  'authorizer',
  'bundles',
  'checkpoints',
  'file-content',
  'files',
  'instances',
  'keys',
  'memory',
  'openapi',
  'project-md',
  'sandboxes',
  'sweep',
]

let outdir: string
let stack: LocalStack
/** The folder of each function's bundle, by the function's name. */
let bundles: Map<string, string>

beforeAll(async () => {
  outdir = await mkdtemp(path.join(tmpdir(), 'sandkeep-bundles-'))
  const app = new App({ outdir, analyticsReporting: false })
  const synthesized = new SandkeepStack(app, 'Sandkeep')
  app.synth()
  bundles = new Map(
    resources(Template.fromStack(synthesized), 'AWS::Lambda::Function').map(([, { Metadata, Properties }]) => [
      String(Metadata['sandkeep:function']),
      path.join(outdir, `asset.${path.basename(Properties.Code.S3Key, '.zip')}`),
    ]),
  )
  stack = await startLocalStack()
}, 180_000)

afterAll(async () => {
  await stack.stop()
  await rm(outdir, { recursive: true, force: true })
})

function bundleOf(name: string): string {
  const folder = bundles.get(name)
  if (folder === undefined) throw new Error(`There is no bundle of ${name}.`)
  return folder
}

test.for(names)('the bundle of %s is one file of at most 1 MB, zipped', async (name) => {
  const files = await readdir(bundleOf(name))
  expect(files).toEqual(['index.mjs'])
  const zipped = deflateRawSync(await readFile(path.join(bundleOf(name), 'index.mjs')))
  expect(zipped.length).toBeLessThanOrEqual(1_000_000)
})

const headers = { 'content-type': ['application/json'], 'X-Sandbox-Tenant-Id': ['a'], 'X-Sandbox-Project-Id': ['b'] }
const authorizer = writeCaller({
  kind: 'key',
  id: 'k',
  role: 'platform',
  bindings: [[{ tenant: '*', project: '*' }]],
  rights: [],
  denied: false,
})

/** An event of the gateway. */
function proxyEvent(httpMethod: string, resource: string, body: object | null) {
  const text = body && Buffer.from(JSON.stringify(body)).toString('base64')
  const requestContext = { requestId: 'r', authorizer }
  return {
    httpMethod,
    resource,
    path: resource,
    multiValueHeaders: headers,
    body: text,
    isBase64Encoded: true,
    requestContext,
  }
}

test.for([
  ['checkpoints', proxyEvent('POST', '/sandbox/checkpoints/v1/blobs/list', { prefix: '' }), '{"blobs":[]}'],
  ['instances', proxyEvent('POST', '/sandbox/instances/v1/get', { key: 'k' }), '{"record":null}'],
  ['keys', proxyEvent('GET', '/sandbox/keys/v1', null), '"name":"local"'],
  ['openapi', proxyEvent('GET', '/openapi.json', null), '"openapi":"3.1.1"'],
] as const)('the bundle of %s runs by itself', async ([name, event, expected]) => {
  const result = JSON.parse(await invokeBundle(name, event))
  expect(result).toMatchObject({ statusCode: 200 })
  expect(result.body).toContain(expected)
})

test('the bundle of the authorizer runs by itself', async () => {
  const methodArn = 'arn:aws:execute-api:us-east-1:000000000000:api/stage/GET/x'
  const result = JSON.parse(await invokeBundle('authorizer', { methodArn, headers: { 'x-api-key': stack.apiKey } }))
  expect(result.context.role).toBe('platform')
})

test('the bundle of the sweep runs by itself', async () => {
  // The table and the bucket are empty.
  expect(await invokeBundle('sweep', {})).toBe('undefined')
})

test('the bundle of the document runs by itself', async () => {
  const event = proxyEvent('GET', '/sandbox/memory/v1/project.md', null)
  const written = JSON.parse(await invokeStreamingBundle('project-md', event))
  expect(written).toMatch(/^\{"statusCode":200,.*\}\0{8}# Project memory\n$/)
})

function invokeBundle(name: string, event: object): Promise<string> {
  return runScript(`
    const { handler } = await import(${JSON.stringify(path.join(bundleOf(name), 'index.mjs'))})
    console.log(JSON.stringify(await handler(${JSON.stringify(event)}, {})))`)
}

/** With what Lambda's runtime gives a function that streams. @returns what it wrote, as JSON */
function invokeStreamingBundle(name: string, event: object): Promise<string> {
  return runScript(`
    import { Writable } from 'node:stream'
    globalThis.awslambda = { streamifyResponse: (handler) => handler }
    const { handler } = await import(${JSON.stringify(path.join(bundleOf(name), 'index.mjs'))})
    let written = ''
    const write = (chunk, _encoding, done) => {
      written += chunk
      done()
    }
    const stream = Object.assign(new Writable({ write }), { setContentType: () => undefined })
    await handler(${JSON.stringify(event)}, stream, {})
    console.log(JSON.stringify(written))`)
}

/** In a process of its own, as Lambda would: with the environment for configuration. @returns the last line of output */
async function runScript(script: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: {
      TABLE_NAME: stack.tableName,
      BUCKET_NAME: stack.bucketName,
      SWEEP_FUNCTION: 'sweep',
      SANDBOX_RETENTION_SEC: '60',
      AWS_LAMBDA_FUNCTION_NAME: 'sweep',
      AWS_REGION: stack.region,
      AWS_ACCESS_KEY_ID: stack.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: stack.credentials.secretAccessKey,
      AWS_ENDPOINT_URL_DYNAMODB: stack.dynamodbEndpoint,
      AWS_ENDPOINT_URL_S3: stack.s3Endpoint,
    },
  })
  const output = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    output.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.err += chunk
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0) throw new Error(output.err)
  return output.out.trim().split('\n').at(-1) ?? ''
}
