import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { OBJECT_PREFIXES } from '../src/blobs/object-keys.ts'
import type { ServiceName } from './service-function.ts'

/** The stores that the functions work on. */
export interface Stores {
  readonly tableArn: string
  readonly bucketArn: string
}

type Prefix = (typeof OBJECT_PREFIXES)[keyof typeof OBJECT_PREFIXES]

/** What each function may do with the table and the bucket. */
export const permissions: Record<ServiceName, (stores: Stores) => PolicyStatement[]> = {
  anthropic: ({ tableArn }) => [onTable(tableArn, 'BatchGetItem', 'PutItem', 'Query', 'UpdateItem')],
  authorizer: ({ tableArn }) => [onTable(tableArn, 'GetItem')],
  bundles: ({ tableArn, bucketArn }) => [
    onTable(tableArn, 'GetItem', 'UpdateItem'),
    onObjects(bucketArn, [OBJECT_PREFIXES.blobs, OBJECT_PREFIXES.bodies], 'GetObject'),
    onObjects(bucketArn, [OBJECT_PREFIXES.bundles], 'GetObject', 'PutObject'),
    onListing(bucketArn, 'ListBucket'),
  ],
  checkpoints: ({ tableArn, bucketArn }) => [
    // A transaction needs the permissions of the writes in it.
    onTable(tableArn, 'BatchGetItem', 'ConditionCheckItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
    onObjects(bucketArn, [OBJECT_PREFIXES.blobs], 'DeleteObjectVersion', 'GetObject', 'PutObject'),
    onObjects(bucketArn, [OBJECT_PREFIXES.bodies], 'DeleteObject', 'GetObject', 'PutObject'),
    // Nothing is deleted there by hand: what was staged expires.
    onObjects(bucketArn, [OBJECT_PREFIXES.staging], 'GetObject', 'PutObject'),
    onListing(bucketArn, 'ListBucket', 'ListBucketVersions'),
  ],
  'file-content': ({ tableArn, bucketArn }) => [
    // A file whose bytes turn out to be gone is deleted.
    onTable(tableArn, 'DeleteItem', 'GetItem'),
    onObjects(bucketArn, [OBJECT_PREFIXES.files], 'GetObject'),
    onListing(bucketArn, 'ListBucket'),
  ],
  files: ({ tableArn, bucketArn }) => [
    onTable(tableArn, 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
    onObjects(bucketArn, [OBJECT_PREFIXES.files], 'DeleteObject', 'GetObject', 'PutObject'),
    onListing(bucketArn, 'ListBucket'),
  ],
  instances: ({ tableArn }) => [onTable(tableArn, 'DeleteItem', 'GetItem', 'PutItem')],
  keys: ({ tableArn }) => [onTable(tableArn, 'GetItem', 'PutItem', 'Query', 'UpdateItem')],
  memory: ({ tableArn, bucketArn }) => [
    onTable(tableArn, 'BatchGetItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
    onObjects(bucketArn, [OBJECT_PREFIXES.projects], 'DeleteObject', 'GetObject', 'PutObject'),
    onObjects(bucketArn, [OBJECT_PREFIXES.staging], 'GetObject', 'PutObject'),
    onListing(bucketArn, 'ListBucket'),
  ],
  openapi: () => [],
  'project-md': ({ tableArn }) => [onTable(tableArn, 'BatchGetItem', 'Query')],
  sandboxes: ({ tableArn, bucketArn }) => [
    onTable(tableArn, 'BatchGetItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
    // Blobs are looked for, and read by who was told of a snapshot.
    onObjects(bucketArn, [OBJECT_PREFIXES.blobs, OBJECT_PREFIXES.bundles], 'GetObject'),
    onObjects(bucketArn, [OBJECT_PREFIXES.bodies], 'DeleteObject', 'GetObject', 'PutObject'),
    onObjects(bucketArn, [OBJECT_PREFIXES.staging], 'GetObject', 'PutObject'),
    onListing(bucketArn, 'ListBucket'),
  ],
  sweep: ({ tableArn, bucketArn }) => [
    onTable(tableArn, 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
    onObjects(
      bucketArn,
      [OBJECT_PREFIXES.blobs, OBJECT_PREFIXES.bodies, OBJECT_PREFIXES.bundles, OBJECT_PREFIXES.staging],
      'DeleteObjectVersion',
    ),
    onObjects(bucketArn, [OBJECT_PREFIXES.bundles], 'GetObject'),
    // Bodies have the keys of what they refer to, and go with the checkpoints that a prune left behind.
    onObjects(bucketArn, [OBJECT_PREFIXES.bodies], 'DeleteObject', 'GetObject'),
    onObjects(bucketArn, [OBJECT_PREFIXES.files, OBJECT_PREFIXES.projects], 'DeleteObject'),
    onListing(bucketArn, 'ListBucket', 'ListBucketVersions'),
  ],
}

/** To read a secret, and to keep of deleted files the ids that their provider gave. */
export function fileProvider(secretArn: string, { tableArn }: Pick<Stores, 'tableArn'>): PolicyStatement[] {
  return [
    new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [secretArn] }),
    onTable(tableArn, 'PutItem', 'UpdateItem'),
  ]
}

/** To call a function, and nothing else of it. */
export function invocation(functionArn: string): PolicyStatement {
  return new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [functionArn] })
}

function onTable(tableArn: string, ...actions: string[]): PolicyStatement {
  return new PolicyStatement({ actions: actions.map((action) => `dynamodb:${action}`), resources: [tableArn] })
}

function onObjects(bucketArn: string, prefixes: Prefix[], ...actions: string[]): PolicyStatement {
  return new PolicyStatement({
    actions: actions.map((action) => `s3:${action}`),
    resources: prefixes.map((prefix) => `${bucketArn}/${prefix}*`),
  })
}

/**
 * Without a condition on the prefix: a HeadObject has no prefix, and S3 answers 403 instead of 404 for an object that
 * is not there when the caller may not list the bucket.
 */
function onListing(bucketArn: string, ...actions: string[]): PolicyStatement {
  return new PolicyStatement({ actions: actions.map((action) => `s3:${action}`), resources: [bucketArn] })
}
