import { S3Error } from '../errors.ts'
import type { Bucket, Catalog } from '../storage/catalog.ts'
import { buildXml, children, parseXml, text, type XmlElement } from '../xml.ts'
import { checkWrite } from './conditions.ts'
import { type Context, payloadOf, type Reply, xmlReply } from './context.ts'
import { newVersionId, versionHeaders } from './versions.ts'

const maxKeys = 1000

interface Deletion {
  key: string
  versionId: string | undefined
  /** If-Match */
  etag: string | undefined
}

interface Deleted {
  /** The id of the version that went, or of the marker that was made. */
  versionId: string
  deleteMarker: boolean
}

export async function deleteObject({ request, catalog, time }: Context): Promise<Reply> {
  const bucket = catalog.bucket(request.bucket)
  const deletion = {
    key: request.key,
    versionId: request.query.get('versionId'),
    etag: request.headers['if-match'],
  }
  const deleted = await deleteOne(catalog, request.bucket, time, deletion)
  if (!deleted) return { status: 204 }
  const marker: Record<string, string> = deleted.deleteMarker ? { 'x-amz-delete-marker': 'true' } : {}
  return { status: 204, headers: { ...versionHeaders(bucket, deleted), ...marker } }
}

export async function deleteObjects(context: Context): Promise<Reply> {
  const { request, catalog, time } = context
  catalog.bucket(request.bucket)
  const payload = payloadOf(context)
  if (!payload.algorithm && request.headers['content-md5'] === undefined) {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: Content-MD5')
  }
  const document = parseXml(await payload.document(), 'Delete')
  const deletions = readDeletions(document)
  const quiet = text(document, 'Quiet') === 'true'
  const outcomes = await Promise.all(
    deletions.map(async (deletion): Promise<{ Deleted: XmlElement } | { Error: XmlElement }> => {
      const named = { Key: deletion.key, VersionId: deletion.versionId }
      try {
        const deleted = await deleteOne(catalog, request.bucket, time, deletion)
        if (!deleted?.deleteMarker) return { Deleted: named }
        return { Deleted: { ...named, DeleteMarker: true, DeleteMarkerVersionId: deleted.versionId } }
      } catch (error) {
        if (!(error instanceof S3Error)) throw error
        return { Error: { ...named, Code: error.code, Message: error.message } }
      }
    }),
  )
  return xmlReply(
    buildXml('DeleteResult', {
      Deleted: quiet ? [] : outcomes.flatMap((outcome) => ('Deleted' in outcome ? [outcome.Deleted] : [])),
      Error: outcomes.flatMap((outcome) => ('Error' in outcome ? [outcome.Error] : [])),
    }),
  )
}

function readDeletions(document: XmlElement): Deletion[] {
  const objects = children(document, 'Object')
  if (objects.length === 0 || objects.length > maxKeys) throw new S3Error('MalformedXML')
  return objects.map((object) => {
    const key = text(object, 'Key')
    if (key === undefined || key === '') throw new S3Error('MalformedXML')
    return { key, versionId: text(object, 'VersionId'), etag: text(object, 'ETag') }
  })
}

/** Deletes a version, or the object: where the bucket keeps versions by a marker on top of them. */
function deleteOne(
  catalog: Catalog,
  name: string,
  time: number,
  { key, versionId, etag }: Deletion,
): Promise<Deleted | undefined> {
  return catalog.exclusive(name, key, async (bucket) => {
    if (etag !== undefined) checkWrite({ 'if-match': etag }, bucket.objects.current(key))
    if (versionId === undefined && bucket.record.versioning) return putMarker(catalog, bucket, key, time)
    const version = bucket.objects.of(key).find((candidate) => candidate.versionId === (versionId ?? 'null'))
    if (!version) return undefined
    await catalog.deleteVersion(bucket, version)
    return { versionId: version.versionId, deleteMarker: version.deleteMarker }
  })
}

async function putMarker(catalog: Catalog, bucket: Bucket, key: string, time: number): Promise<Deleted> {
  const versionId = newVersionId(bucket)
  await catalog.putVersion(bucket, {
    bucket: bucket.record.name,
    key,
    versionId,
    deleteMarker: true,
    lastModified: time,
    size: 0,
    etag: '',
    pieces: [],
    headers: {},
    metadata: {},
    tags: [],
    storageClass: 'STANDARD',
    encryption: 'AES256',
  })
  return { versionId, deleteMarker: true }
}
