import { S3Error } from '../errors.ts'
import type { ObjectVersion, Tag } from '../storage/types.ts'
import { buildXml, children, parseXml, text } from '../xml.ts'
import { type Context, payloadOf, type Reply, xmlReply } from './context.ts'
import { findVersion, versionHeaders } from './versions.ts'

const maxObjectTags = 10
const maxBucketTags = 50

/** Tags in the form of a query, as the header `x-amz-tagging` has them. */
export function parseTagQuery(query: string): Tag[] {
  return checkTags(
    [...new URLSearchParams(query)].map(([Key, Value]) => ({ Key, Value })),
    maxObjectTags,
  )
}

/** Tags of a Tagging document. */
export function parseTagDocument(body: Buffer, owner: 'object' | 'bucket'): Tag[] {
  const [set] = children(parseXml(body, 'Tagging'), 'TagSet')
  if (!set) return []
  const tags = children(set, 'Tag').map((tag) => {
    const Key = text(tag, 'Key')
    const Value = text(tag, 'Value')
    if (Key === undefined || Value === undefined) throw new S3Error('MalformedXML')
    return { Key, Value }
  })
  return checkTags(tags, owner === 'object' ? maxObjectTags : maxBucketTags)
}

function checkTags(tags: Tag[], limit: number): Tag[] {
  if (tags.length > limit) throw new S3Error('InvalidTag', `The number of tags must not be greater than ${limit}`)
  for (const { Key, Value } of tags) {
    if (Key.length < 1 || Key.length > 128 || !/^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(Key)) {
      throw new S3Error('InvalidTag', 'The TagKey you have provided is invalid')
    }
    if (Value.length > 256 || !/^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(Value)) {
      throw new S3Error('InvalidTag', 'The TagValue you have provided is invalid')
    }
  }
  if (new Set(tags.map((tag) => tag.Key)).size < tags.length) {
    throw new S3Error('InvalidTag', 'Cannot provide multiple Tags with the same key')
  }
  return tags
}

export function getObjectTagging({ request, catalog }: Context): Reply {
  const bucket = catalog.bucket(request.bucket)
  const version = findVersion(bucket, request)
  const reply = xmlReply(buildXml('Tagging', { TagSet: { Tag: version.tags.map((tag) => ({ ...tag })) } }))
  return { ...reply, headers: { ...reply.headers, ...versionHeaders(bucket, version) } }
}

export async function putObjectTagging(context: Context): Promise<Reply> {
  context.catalog.bucket(context.request.bucket)
  const tags = parseTagDocument(await payloadOf(context).document(), 'object')
  return replaceTags(context, tags, 200)
}

export function deleteObjectTagging(context: Context): Promise<Reply> {
  return replaceTags(context, [], 204)
}

function replaceTags({ request, catalog }: Context, tags: Tag[], status: number): Promise<Reply> {
  return catalog.exclusive(request.bucket, request.key, async (bucket) => {
    const version: ObjectVersion = findVersion(bucket, request)
    await catalog.changeVersion(bucket, { ...version, tags })
    return { status, headers: versionHeaders(bucket, version) }
  })
}
