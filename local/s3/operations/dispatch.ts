import { createHash } from 'node:crypto'
import { S3Error } from '../errors.ts'
import type { S3Request } from '../request.ts'
import * as buckets from './buckets.ts'
import type { Context, Operation, Reply } from './context.ts'
import { copyObject, uploadPartCopy } from './copy.ts'
import * as deletion from './deletion.ts'
import { documentOperations } from './documents.ts'
import * as listing from './listing.ts'
import * as multipart from './multipart.ts'
import { getObjectAttributes } from './object-attributes.ts'
import { putObject } from './objects.ts'
import { getObject } from './reading.ts'
import * as tags from './tags.ts'
import { listParts, listUploads } from './upload-lists.ts'
import { listVersions } from './version-list.ts'

/** What a request acts on, beside the service, bucket or object itself. */
const subresources = new Set([
  'accelerate',
  'acl',
  'analytics',
  'attributes',
  'cors',
  'delete',
  'encryption',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'lifecycle',
  'location',
  'logging',
  'metrics',
  'notification',
  'object-lock',
  'ownershipControls',
  'policy',
  'policyStatus',
  'publicAccessBlock',
  'replication',
  'requestPayment',
  'restore',
  'retention',
  'select',
  'session',
  'tagging',
  'torrent',
  'uploadId',
  'uploads',
  'versioning',
  'versions',
  'website',
])

const operations: Readonly<Record<string, Operation>> = {
  'GET service': buckets.listBuckets,
  'PUT bucket': buckets.createBucket,
  'HEAD bucket': buckets.headBucket,
  'DELETE bucket': buckets.deleteBucket,
  'GET bucket': (context) =>
    context.request.query.get('list-type') === '2' ? listing.listObjectsV2(context) : listing.listObjectsV1(context),
  'GET bucket?location': buckets.getLocation,
  'GET bucket?versioning': buckets.getVersioning,
  'PUT bucket?versioning': buckets.putVersioning,
  'POST bucket?delete': deletion.deleteObjects,
  'GET bucket?versions': listVersions,
  'GET bucket?uploads': listUploads,
  ...documentOperations,
  'PUT object': (context) =>
    context.request.headers['x-amz-copy-source'] === undefined ? putObject(context) : copyObject(context),
  'GET object': getObject,
  'HEAD object': getObject,
  'DELETE object': deletion.deleteObject,
  'GET object?attributes': getObjectAttributes,
  'POST object?uploads': multipart.createUpload,
  'POST object?uploadId': multipart.completeUpload,
  'PUT object?uploadId': (context) =>
    context.request.headers['x-amz-copy-source'] === undefined
      ? multipart.uploadPart(context)
      : uploadPartCopy(context),
  'GET object?uploadId': listParts,
  'DELETE object?uploadId': multipart.abortUpload,
  'GET object?tagging': tags.getObjectTagging,
  'PUT object?tagging': tags.putObjectTagging,
  'DELETE object?tagging': tags.deleteObjectTagging,
}
const paths = new Set(Object.keys(operations).map((name) => name.slice(name.indexOf(' ') + 1)))
const emptySha256 = createHash('sha256').digest('hex')

/** Carries out an authorized request. */
export async function dispatch(context: Context): Promise<Reply> {
  const { request, authorized } = context
  const target = targetOf(request)
  const operation = operations[`${request.method} ${target}`]
  if (!operation) {
    if (!paths.has(target)) throw new S3Error('NotImplemented')
    throw new S3Error('MethodNotAllowed', undefined, { Method: request.method })
  }
  const bodiless = request.method === 'GET' || request.method === 'HEAD' || request.method === 'DELETE'
  if (bodiless && /^[0-9a-f]{64}$/.test(authorized.payloadHash) && authorized.payloadHash !== emptySha256) {
    throw new S3Error('XAmzContentSHA256Mismatch')
  }
  return operation(context)
}

function targetOf(request: S3Request): string {
  const target = request.bucket === '' ? 'service' : request.key === '' ? 'bucket' : 'object'
  const named = [...request.query.keys()].filter((name) => subresources.has(name))
  if (named.length > 1) {
    throw new S3Error('InvalidArgument', 'Conflicting query string parameters', { ResourceType: named.join(', ') })
  }
  return named.length === 1 ? `${target}?${named[0]}` : target
}
