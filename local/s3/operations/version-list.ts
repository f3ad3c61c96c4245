import { S3Error } from '../errors.ts'
import { compareUtf8 } from '../storage/key-index.ts'
import type { ObjectVersion } from '../storage/types.ts'
import { buildXml } from '../xml.ts'
import { type Context, type Reply, xmlReply } from './context.ts'
import { describeEntry, nameEncoder, readLimit, takePage } from './listing.ts'

export function listVersions({ request, catalog }: Context): Reply {
  const { query } = request
  const { objects } = catalog.bucket(request.bucket)
  const prefix = query.get('prefix') ?? ''
  const delimiter = query.get('delimiter') ?? ''
  const keyMarker = query.get('key-marker') ?? ''
  const idMarker = query.get('version-id-marker') || undefined
  if (idMarker !== undefined && keyMarker === '') {
    throw new S3Error('InvalidArgument', 'A version-id marker cannot be specified without a key marker.')
  }
  const limit = readLimit(query, 'max-keys')
  const encode = nameEncoder(query)
  function* versions(): Generator<ObjectVersion, void> {
    for (const key of objects.range(prefix, keyMarker)) {
      const all = objects.of(key)
      if (compareUtf8(key, keyMarker) > 0) yield* all
      else if (idMarker !== undefined) yield* all.slice(all.findIndex((version) => version.versionId === idMarker) + 1)
    }
  }
  const page = takePage(versions(), { prefix, delimiter, after: keyMarker, limit })
  const describe = (version: ObjectVersion) => ({
    ...describeEntry(version, encode, true),
    VersionId: version.versionId,
    IsLatest: objects.of(version.key)[0]?.versionId === version.versionId,
  })
  return xmlReply(
    buildXml('ListVersionsResult', {
      Name: request.bucket,
      Prefix: encode(prefix),
      Delimiter: delimiter === '' ? undefined : encode(delimiter),
      KeyMarker: encode(keyMarker),
      VersionIdMarker: idMarker ?? '',
      NextKeyMarker: page.truncated ? encode(page.last) : undefined,
      NextVersionIdMarker: page.truncated ? page.items.at(-1)?.versionId : undefined,
      MaxKeys: limit,
      EncodingType: query.get('encoding-type'),
      IsTruncated: page.truncated,
      Version: page.items.filter((version) => !version.deleteMarker).map(describe),
      DeleteMarker: page.items.filter((version) => version.deleteMarker).map(describe),
      CommonPrefixes: page.prefixes.map((name) => ({ Prefix: encode(name) })),
    }),
  )
}
