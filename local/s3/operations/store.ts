import type { Payload, Received, Sink } from '../payload.ts'
import type { Catalog } from '../storage/catalog.ts'
import type { ObjectVersion, Piece } from '../storage/types.ts'
import { checkWrite } from './conditions.ts'
import { newVersionId } from './versions.ts'

/** Stores what a producer writes as one piece; nothing is left when it fails. */
export async function storePiece<T>(
  catalog: Catalog,
  produce: (sink: Sink) => Promise<T>,
): Promise<{ piece: Piece; result: T }> {
  const writer = catalog.pieces.create()
  try {
    const result = await produce(writer)
    return { piece: await writer.finish(), result }
  } catch (error) {
    await writer.discard()
    throw error
  }
}

/** Stores a verified body as one piece. */
export async function storePayload(catalog: Catalog, payload: Payload): Promise<{ piece: Piece; received: Received }> {
  const { piece, result } = await storePiece(catalog, (sink) => payload.receive(sink))
  return { piece, received: result }
}

/** Makes an object visible, if the conditions of the write hold at that instant; otherwise its pieces are removed. */
export async function commitVersion(
  catalog: Catalog,
  conditions: Readonly<Record<string, string>>,
  content: Omit<ObjectVersion, 'sequence' | 'versionId' | 'deleteMarker'>,
): Promise<ObjectVersion> {
  try {
    return await catalog.exclusive(content.bucket, content.key, (bucket) => {
      checkWrite(conditions, bucket.objects.current(content.key))
      return catalog.putVersion(bucket, { ...content, versionId: newVersionId(bucket), deleteMarker: false })
    })
  } catch (error) {
    await catalog.leases.remove(content.pieces)
    throw error
  }
}
