import { S3Error } from '../errors.ts'
import { encodePath } from '../request.ts'
import { compareUtf8 } from '../storage/key-index.ts'
import type { ObjectVersion } from '../storage/types.ts'
import { buildXml, type XmlElement } from '../xml.ts'
import { type Context, type Reply, xmlReply } from './context.ts'

const maxPage = 1000

export interface Page<T> {
  items: T[]
  prefixes: string[]
  truncated: boolean
  /** The key or common prefix that the page ends with. */
  last: string
}

/**
 * One page of entries that come in the order of their keys: those after `after`, the keys that have the delimiter behind
 * the prefix rolled up.
 */
export function takePage<T extends { key: string }>(
  entries: Iterable<T>,
  options: { prefix: string; delimiter: string; after: string; limit: number },
): Page<T> {
  const { prefix, delimiter, after, limit } = options
  const page: Page<T> = { items: [], prefixes: [], truncated: false, last: '' }
  if (limit === 0) return page
  for (const entry of entries) {
    const cut = delimiter === '' ? -1 : entry.key.indexOf(delimiter, prefix.length)
    const rolled = cut < 0 ? undefined : entry.key.slice(0, cut + delimiter.length)
    if (rolled !== undefined && (rolled === after || rolled === page.prefixes.at(-1))) continue
    if (page.items.length + page.prefixes.length === limit) {
      page.truncated = true
      break
    }
    if (rolled === undefined) page.items.push(entry)
    else page.prefixes.push(rolled)
    page.last = rolled ?? entry.key
  }
  return page
}

/** Reads a number of entries, at most 1,000 of which make a page. */
export function readLimit(query: ReadonlyMap<string, string>, name: string): number {
  const value = query.get(name)
  if (value === undefined || value === '') return maxPage
  if (!/^\d{1,10}$/.test(value) || Number(value) > 2 ** 31 - 1) {
    throw new S3Error('InvalidArgument', `Provided ${name} not an integer or within integer range`, {
      ArgumentName: name,
      ArgumentValue: value,
    })
  }
  return Math.min(Number(value), maxPage)
}

/** How names are written into a list: as they are, or percent-encoded. */
export function nameEncoder(query: ReadonlyMap<string, string>): (name: string) => string {
  const type = query.get('encoding-type')
  if (type === undefined) return (name) => name
  if (type !== 'url') throw new S3Error('InvalidArgument', 'Invalid Encoding Method specified in Request')
  return encodePath
}

export function listObjectsV2({ request, catalog }: Context): Reply {
  const { query } = request
  const token = query.get('continuation-token')
  const startAfter = query.get('start-after')
  const after = token === undefined ? (startAfter ?? '') : readToken(token)
  const { page, common, encode } = listObjects(request, catalog.bucket(request.bucket).objects, after)
  const owner = query.get('fetch-owner') === 'true'
  return xmlReply(
    buildXml('ListBucketResult', {
      ...common,
      StartAfter: startAfter === undefined ? undefined : encode(startAfter),
      ContinuationToken: token,
      KeyCount: page.items.length + page.prefixes.length,
      NextContinuationToken: page.truncated ? Buffer.from(page.last).toString('base64') : undefined,
      Contents: page.items.map((version) => describeEntry(version, encode, owner)),
      CommonPrefixes: page.prefixes.map((prefix) => ({ Prefix: encode(prefix) })),
    }),
  )
}

export function listObjectsV1({ request, catalog }: Context): Reply {
  const marker = request.query.get('marker') ?? ''
  const { page, common, encode } = listObjects(request, catalog.bucket(request.bucket).objects, marker)
  // S3 gives the next marker only with a delimiter: elsewhere it is the last key.
  const next = page.truncated && common.Delimiter !== undefined ? encode(page.last) : undefined
  return xmlReply(
    buildXml('ListBucketResult', {
      ...common,
      Marker: encode(marker),
      NextMarker: next,
      Contents: page.items.map((version) => describeEntry(version, encode, true)),
      CommonPrefixes: page.prefixes.map((prefix) => ({ Prefix: encode(prefix) })),
    }),
  )
}

function listObjects(
  request: Context['request'],
  objects: ReturnType<Context['catalog']['bucket']>['objects'],
  after: string,
): { page: Page<ObjectVersion>; common: XmlElement; encode: (name: string) => string } {
  const { query } = request
  const prefix = query.get('prefix') ?? ''
  const delimiter = query.get('delimiter') ?? ''
  const limit = readLimit(query, 'max-keys')
  const encode = nameEncoder(query)
  function* current(): Generator<ObjectVersion, void> {
    for (const key of objects.range(prefix, after)) {
      const version = objects.current(key)
      if (version && compareUtf8(key, after) > 0) yield version
    }
  }
  const page = takePage(current(), { prefix, delimiter, after, limit })
  const common = {
    Name: request.bucket,
    Prefix: encode(prefix),
    Delimiter: delimiter === '' ? undefined : encode(delimiter),
    MaxKeys: limit,
    EncodingType: query.get('encoding-type'),
    IsTruncated: page.truncated,
  }
  return { page, common, encode }
}

/** A continuation token is the name that the page before ended with. */
function readToken(token: string): string {
  const last = Buffer.from(token, 'base64')
  if (token === '' || last.toString('base64') !== token) {
    throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect', {
      ArgumentName: 'continuation-token',
    })
  }
  return last.toString('utf8')
}

export function describeEntry(version: ObjectVersion, encode: (name: string) => string, owner: boolean): XmlElement {
  return {
    Key: encode(version.key),
    LastModified: new Date(version.lastModified).toISOString(),
    ETag: version.deleteMarker ? undefined : `"${version.etag}"`,
    ChecksumAlgorithm: version.checksum?.algorithm,
    ChecksumType: version.checksum?.type,
    Size: version.deleteMarker ? undefined : version.size,
    StorageClass: version.deleteMarker ? undefined : version.storageClass,
    Owner: owner ? ownerElement : undefined,
  }
}

export const ownerElement: XmlElement = { ID: 'owner' }
