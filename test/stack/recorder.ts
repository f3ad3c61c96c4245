import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import type { Template } from 'aws-cdk-lib/assertions'
import type { AuthorizerConfig } from '../../lambdas/authorizer/handler.ts'
import type { BundlesRequester } from '../../lambdas/shared/bundles-config.ts'
import type { SweepHandlerConfig } from '../../lambdas/shared/sweep-config.ts'
import type { LocalStack } from '../../local/index.ts'
import { slotsOf, synthesizeTemplate } from '../../local/template.ts'
import { grants } from './grants.ts'

/** Tells what functions ask of the table, the bucket and other functions, in IAM's words, as `RESOURCE ACTION`. */
export class CallRecorder {
  readonly calls = new Map<string, Set<string>>()
  readonly #stack: LocalStack
  readonly #clients: { destroy(): void }[] = []

  constructor(stack: LocalStack) {
    this.#stack = stack
  }

  /** A configuration for a function, whose clients tell what it calls. */
  configOf(service: string): SweepHandlerConfig & BundlesRequester & Pick<AuthorizerConfig, 'slots'> {
    const { region, credentials, tableName, bucketName, dynamodbEndpoint, s3Endpoint } = this.#stack
    const dynamodb = new DynamoDBClient({ endpoint: dynamodbEndpoint, region, credentials: { ...credentials } })
    const s3 = new S3Client({
      endpoint: s3Endpoint,
      region,
      credentials: { ...credentials },
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
    })
    this.#clients.push(dynamodb, s3)
    const made = this.#callsOf(service)
    for (const { middlewareStack } of [dynamodb, s3 as unknown as DynamoDBClient]) {
      middlewareStack.add(
        (next, context) => (args) => {
          for (const call of iamCalls(String(context.commandName), args.input as Input)) made.add(call)
          return next(args)
        },
        // The last step: what is only signed does not come here.
        { step: 'deserialize' },
      )
    }
    const startSweep = async () => {
      made.add('sweep lambda:InvokeFunction')
    }
    const requestBundles = async () => {
      made.add('bundles lambda:InvokeFunction')
    }
    const slots = slotsOf(synthesizeTemplate())
    return { dynamodb, s3, tableName, bucketName, startSweep, requestBundles, slots }
  }

  /** Tells of presigned requests: they have the rights of the function that signed them. */
  fetchFor(service: string): typeof globalThis.fetch {
    return async (input, init) => {
      const { url, method } = new Request(input, init)
      if (url.startsWith(this.#stack.s3Endpoint)) {
        const [, , prefix] = new URL(url).pathname.split('/')
        this.#callsOf(service).add(`bucket/${prefix}/* s3:${method === 'PUT' ? 'PutObject' : 'GetObject'}`)
      }
      return fetch(input, init)
    }
  }

  /** What a function called, in order. */
  made(service: string): string[] {
    return [...this.#callsOf(service)].sort()
  }

  stop(): void {
    for (const client of this.#clients) client.destroy()
  }

  #callsOf(service: string): Set<string> {
    const made = this.calls.get(service) ?? new Set()
    this.calls.set(service, made)
    return made
  }
}

/** What a function may call, in the same words and order. */
export function granted(template: Template, service: string): string[] {
  return Object.entries(grants(template, service))
    .filter(([resource]) => resource !== 'logs')
    .flatMap(([resource, actions]) => actions.map((action) => `${resource} ${action}`))
    .sort()
}

interface Input {
  Key?: unknown
  TransactItems?: object[]
  Delete?: { Objects: Array<{ Key: string; VersionId?: string }> }
}

function iamCalls(commandName: string, input: Input): string[] {
  const command = commandName.replace(/Command$/, '')
  if (command === 'TransactGetItems') return ['table dynamodb:GetItem']
  if (command === 'TransactWriteItems') {
    const kinds = (input.TransactItems ?? []).flatMap((item) => Object.keys(item))
    return kinds.map((kind) => `table dynamodb:${kind === 'ConditionCheck' ? 'ConditionCheckItem' : `${kind}Item`}`)
  }
  if (command === 'ListObjectsV2') return ['bucket s3:ListBucket']
  if (command === 'ListObjectVersions') return ['bucket s3:ListBucketVersions']
  if (command === 'DeleteObjects') {
    return (input.Delete?.Objects ?? []).map(
      ({ Key, VersionId }) =>
        `bucket/${Key.split('/')[0]}/* s3:DeleteObject${VersionId === undefined ? '' : 'Version'}`,
    )
  }
  if (command.endsWith('Object')) {
    const prefix = String(input.Key).split('/')[0]
    return [`bucket/${prefix}/* s3:${command === 'HeadObject' ? 'GetObject' : command}`]
  }
  return [`table dynamodb:${command}`]
}
