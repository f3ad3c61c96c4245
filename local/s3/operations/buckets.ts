import { S3Error } from '../errors.ts'
import { buildXml, parseXml, text } from '../xml.ts'
import { type Context, payloadOf, type Reply, xmlReply } from './context.ts'
import { ownerElement } from './listing.ts'

/** @throws S3Error InvalidBucketName */
export function assertBucketName(name: string): void {
  const valid =
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) && !name.includes('..') && !/^\d+\.\d+\.\d+\.\d+$/.test(name)
  if (!valid) throw new S3Error('InvalidBucketName', undefined, { BucketName: name })
}

export function listBuckets({ catalog }: Context): Reply {
  const buckets = catalog.bucketRecords().sort((left, right) => (left.name < right.name ? -1 : 1))
  return xmlReply(
    buildXml('ListAllMyBucketsResult', {
      Owner: ownerElement,
      Buckets: {
        Bucket: buckets.map(({ name, created }) => ({ Name: name, CreationDate: new Date(created).toISOString() })),
      },
    }),
  )
}

export async function createBucket(context: Context): Promise<Reply> {
  const { request, catalog, region, time } = context
  const { bucket: name } = request
  assertBucketName(name)
  const payload = Number(request.headers['content-length'] ?? 0) > 0 ? payloadOf(context) : undefined
  if (payload) {
    const constraint = text(parseXml(await payload.document(), 'CreateBucketConfiguration'), 'LocationConstraint')
    if (constraint !== undefined && constraint !== '' && constraint !== region) {
      throw new S3Error('IllegalLocationConstraintException')
    }
  }
  if (catalog.has(name)) {
    if (region !== 'us-east-1') throw new S3Error('BucketAlreadyOwnedByYou', undefined, { BucketName: name })
  } else {
    await catalog.saveBucket({ name, created: time, documents: {} })
  }
  return { status: 200, headers: { location: `/${name}` } }
}

export function headBucket({ request, catalog, region }: Context): Reply {
  catalog.bucket(request.bucket)
  return { status: 200, headers: { 'x-amz-bucket-region': region } }
}

export async function deleteBucket({ request, catalog }: Context): Promise<Reply> {
  await catalog.deleteBucket(request.bucket)
  return { status: 204 }
}

export function getLocation({ request, catalog, region }: Context): Reply {
  catalog.bucket(request.bucket)
  return xmlReply(buildXml('LocationConstraint', region === 'us-east-1' ? {} : { '#text': region }))
}

export function getVersioning({ request, catalog }: Context): Reply {
  const { record } = catalog.bucket(request.bucket)
  return xmlReply(buildXml('VersioningConfiguration', { Status: record.versioning }))
}

export async function putVersioning(context: Context): Promise<Reply> {
  const { request, catalog } = context
  catalog.bucket(request.bucket)
  const status = text(parseXml(await payloadOf(context).document(), 'VersioningConfiguration'), 'Status')
  if (status !== 'Enabled' && status !== 'Suspended') throw new S3Error('MalformedXML')
  await catalog.saveBucket({ ...catalog.bucket(request.bucket).record, versioning: status })
  return { status: 200 }
}
