import type { BlobInfo } from '../../src/blobs/types.ts'
import { type Action, action } from '../shared/action.ts'
import { json } from '../shared/answer.ts'
import { presigned } from '../shared/presigned.ts'
import { timestamp } from '../shared/timestamp.ts'
import type { CheckpointAction } from './routes.ts'
import * as schemas from './schemas.ts'
import type { Services } from './service.ts'

/** The blob exchange. Bytes never pass through here: they go between the caller and S3. */
export function blobActions({ blobs }: Services): Record<Extract<CheckpointAction, `blob${string}`>, Action> {
  return {
    blobUploads: action(schemas.blobUploads, async (input, call) => {
      const wanted = input.blobs.map(({ key, size_bytes }) => ({ key, size: size_bytes }))
      const missing = await blobs(call).prepareUploads(wanted)
      return json(200, { missing: missing.map(({ key, upload }) => ({ key, ...presigned(upload) })) })
    }),
    blobDownloads: action(schemas.blobDownloads, async ({ keys }, call) => {
      const downloads: unknown[] = []
      const missing: string[] = []
      for (const found of await blobs(call).prepareDownloads(keys)) {
        if (found.download === null) missing.push(found.key)
        else downloads.push({ key: found.key, size_bytes: found.size, ...presigned(found.download) })
      }
      return json(200, { downloads, missing })
    }),
    blobHead: action(schemas.blobHead, async ({ keys }, call) => {
      const heads = await blobs(call).headAll(keys)
      return json(200, {
        blobs: heads.filter((head) => head !== null).map(shown),
        missing: keys.filter((_key, index) => heads[index] === null),
      })
    }),
    blobList: action(schemas.blobList, async ({ prefix }, call) => {
      const listed = await blobs(call).list(prefix)
      return json(200, { blobs: listed.map(shown) })
    }),
    blobDelete: action(schemas.blobDelete, async ({ keys }, call) => {
      return json(200, await blobs(call).deleteAll(keys))
    }),
  }
}

function shown({ key, size, uploadedAt }: BlobInfo) {
  return { key, size_bytes: size, uploaded_at: timestamp(uploadedAt) }
}
