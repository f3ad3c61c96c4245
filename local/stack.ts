import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { CreateTableCommand, DynamoDBClient, ResourceInUseException } from '@aws-sdk/client-dynamodb'
import { type CORSRule, PutBucketCorsCommand, PutBucketVersioningCommand, S3Client } from '@aws-sdk/client-s3'
import { metered } from '../lambdas/shared/capacity.ts'
import type { HandlerConfig } from '../lambdas/shared/config.ts'
import type { FilesHandlerConfig } from '../lambdas/shared/files-config.ts'
import { EXPOSED_HEADERS } from '../lib/bucket.ts'
import type { OidcSettings } from '../src/access/settings.ts'
import type { SandboxCheckpointStoreOptions } from '../src/checkpoints/types.ts'
import { createKeyStore } from '../src/keys/store.ts'
import { createTableInput } from '../src/table/schema.ts'
import { BackgroundBundles } from './background-bundles.ts'
import { BackgroundSweeps } from './background-sweeps.ts'
import { startDynamoDb } from './dynamodb/index.ts'
import { startGateway, type Template } from './gateway/index.ts'
import { functionNamed } from './gateway/read-api.ts'
import { createHandlers, createStreamHandlers } from './handlers.ts'
import { startS3 } from './s3/index.ts'
import { lockFolder } from './s3/storage/folder-lock.ts'
import { newSettings, readSettings, type Settings, writeSettings } from './settings.ts'
import { LOCAL_CORS_ORIGINS, slotsOf, synthesizeTemplate } from './template.ts'

export interface LocalStackOptions extends SandboxCheckpointStoreOptions {
  /** Of the API. @default any free port */
  port?: number
  /** Keeps the data and the key in this folder, where the next start finds them again. @default in memory */
  dir?: string
  /** The identity provider whose tokens are taken beside API keys. @default none */
  oidc?: OidcSettings | undefined
  /** How long an expired or destroyed sandbox is kept, in seconds. @default 30 days */
  sandboxRetentionSec?: number | undefined
  /** How long a task of the project memory is kept after its last write, in seconds. @default 30 days */
  memoryRetentionSec?: number | undefined
  /** How to reach Anthropic's API, or what stands for it; `baseUrl` is without `/v1`. @default not at all */
  anthropic?: { baseUrl: string; apiKey: string } | undefined
  /** Where uploaded files go. @default s3 */
  filesBackend?: 's3' | 'anthropic' | undefined
  /** What the gateway does. @default the template of this package's stack */
  template?: Template
  /** Told of what failed inside a request that was answered with 5xx, and in a sweep. @default nothing is told */
  onError?: (error: unknown) => void
}

/** The whole stack, running in this process. */
export interface LocalStack {
  /** Where the API answers, without a slash at the end. */
  url: string
  /** A platform key: for every tenant and project, with every right. */
  apiKey: string
  region: string
  /** For the two endpoints. */
  credentials: { accessKeyId: string; secretAccessKey: string }
  dynamodbEndpoint: string
  s3Endpoint: string
  tableName: string
  bucketName: string
  /** Answers what has been asked, and ends the stack. Data in a folder stays. */
  stop(): Promise<void>
}

const REGION = 'us-east-1'
const NAME = 'sandkeep'

/** Pages of any origin may send presigned requests, as the bucket of a stack with such pages has it. */
const anyPage: CORSRule[] = [
  {
    AllowedMethods: ['GET', 'HEAD', 'PUT'],
    AllowedOrigins: LOCAL_CORS_ORIGINS,
    AllowedHeaders: ['*'],
    ExposeHeaders: EXPOSED_HEADERS,
  },
]

/**
 * Starts the whole stack on 127.0.0.1: DynamoDB, S3, and the API with its functions behind a gateway that follows the
 * synthesised template. Takes two seconds, most of them for the template.
 * @throws Error when the port is in use (code EADDRINUSE), or another process serves the folder; InvalidInputError when
 * the settings of the identity provider are wrong
 */
export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalStack> {
  const running = new Running()
  try {
    return await startParts(options, running)
  } catch (error) {
    await running.stop()
    throw error
  }
}

async function startParts(options: LocalStackOptions, running: Running): Promise<LocalStack> {
  const { dir, port, template = synthesizeTemplate(), onError } = options
  if (dir !== undefined) {
    await mkdir(dir, { recursive: true })
    running.add(lockFolder(dir))
  }
  const settings = dir === undefined ? newSettings() : await readSettings(dir)
  const { credentials } = settings

  const table = await startDynamoDb(dir === undefined ? {} : { dir: path.join(dir, 'dynamodb') })
  running.add(() => table.stop())
  const bucket = await startS3({
    credentials,
    region: REGION,
    buckets: [NAME],
    ...(dir === undefined ? {} : { dir: path.join(dir, 's3') }),
  })
  running.add(() => bucket.stop())

  // Copies, because the SDK marks the object that it is given.
  const dynamodb = metered(
    new DynamoDBClient({ endpoint: table.endpoint, region: REGION, credentials: { ...credentials } }),
  )
  running.add(() => dynamodb.destroy())
  const s3 = new S3Client({
    endpoint: bucket.endpoint,
    region: REGION,
    credentials: { ...credentials },
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  })
  running.add(() => s3.destroy())
  await createTable(dynamodb)
  await s3.send(new PutBucketVersioningCommand({ Bucket: NAME, VersioningConfiguration: { Status: 'Enabled' } }))
  await s3.send(new PutBucketCorsCommand({ Bucket: NAME, CORSConfiguration: { CORSRules: anyPage } }))
  const apiKey = await platformKey(dynamodb, settings)
  if (dir !== undefined && apiKey !== settings.apiKey) await writeSettings(dir, { ...settings, apiKey })

  const config = {
    dynamodb,
    s3,
    tableName: NAME,
    bucketName: NAME,
    ...storeOptions(options),
    sandboxRetentionSec: options.sandboxRetentionSec,
    memoryRetentionSec: options.memoryRetentionSec,
    ...filesOptions(options),
  }
  const background = (name: string) => {
    return { config, timeoutMs: functionNamed(template, name).timeoutMs, onError: onError ?? (() => undefined) }
  }
  const sweeps = new BackgroundSweeps(background('sweep'))
  running.add(() => sweeps.stop())
  const bundles = new BackgroundBundles(background('bundles'))
  running.add(() => bundles.stop())
  const handlerConfig = {
    ...config,
    oidc: options.oidc,
    slots: slotsOf(template),
    startSweep: sweeps.start,
    requestBundles: bundles.request,
  }
  const gateway = await startGateway({
    template,
    handlers: createHandlers(handlerConfig),
    streamHandlers: createStreamHandlers(handlerConfig),
    ...(port === undefined ? {} : { port }),
    ...(onError === undefined ? {} : { onError }),
  })
  running.add(() => gateway.stop())
  return {
    url: gateway.url,
    apiKey,
    region: REGION,
    credentials,
    dynamodbEndpoint: table.endpoint,
    s3Endpoint: bucket.endpoint,
    tableName: NAME,
    bucketName: NAME,
    stop: () => running.stop(),
  }
}

/** What runs already, to be ended in the opposite order of its start. */
class Running {
  #stops: (() => void | Promise<void>)[] = []

  add(stop: () => void | Promise<void>): void {
    this.#stops.push(stop)
  }

  async stop(): Promise<void> {
    const stops = this.#stops.reverse()
    this.#stops = []
    for (const stop of stops) await stop()
  }
}

async function createTable(dynamodb: DynamoDBClient): Promise<void> {
  try {
    await dynamodb.send(new CreateTableCommand(createTableInput(NAME)))
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error
  }
}

/** The key of the last start if it is still good, or a new one. */
async function platformKey(dynamodb: DynamoDBClient, settings: Settings): Promise<string> {
  const keys = createKeyStore({ dynamodb, tableName: NAME })
  if (settings.apiKey !== undefined && (await keys.verify(settings.apiKey))) return settings.apiKey
  const created = await keys.create({ name: 'local', role: 'platform', bindings: [{ tenant: '*', project: '*' }] })
  return created.key
}

/** @throws Error when uploads are to go where nothing is known of */
function filesOptions({ anthropic, filesBackend }: LocalStackOptions): Omit<FilesHandlerConfig, keyof HandlerConfig> {
  if (filesBackend === 'anthropic' && !anthropic) {
    throw new Error('filesBackend: with "anthropic" the option anthropic is needed.')
  }
  return {
    corsOrigins: LOCAL_CORS_ORIGINS,
    filesBackend,
    ...(anthropic && { anthropic: { baseUrl: anthropic.baseUrl, apiKey: async () => anthropic.apiKey } }),
  }
}

function storeOptions({ now, leaseDurationMs, renewAfterMs }: LocalStackOptions): SandboxCheckpointStoreOptions {
  return {
    ...(now === undefined ? {} : { now }),
    ...(leaseDurationMs === undefined ? {} : { leaseDurationMs }),
    ...(renewAfterMs === undefined ? {} : { renewAfterMs }),
  }
}
