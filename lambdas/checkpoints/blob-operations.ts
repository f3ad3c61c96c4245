import * as z from 'zod'
import type { Operation } from '../openapi/operation.ts'
import { jsonAnswer, largeAnswer } from '../openapi/schemas.ts'
import { blobKey } from '../shared/blob-key.ts'
import * as answers from './answer-schemas.ts'
import type { CheckpointAction } from './routes.ts'
import * as schemas from './schemas.ts'

const keys = z.array(blobKey)

export const blobOperations: Record<Extract<CheckpointAction, `blob${string}`>, Operation> = {
  blobUploads: {
    id: 'prepareBlobUploads',
    summary: 'Find out which blobs are missing, and how to upload them',
    body: { 'application/json': schemas.blobUploads },
    answers: {
      200: jsonAnswer('Those that are missing.', z.strictObject({ missing: z.array(answers.blobUpload) })),
      303: largeAnswer,
    },
  },
  blobDownloads: {
    id: 'prepareBlobDownloads',
    summary: 'Find out how to download blobs',
    body: { 'application/json': schemas.blobDownloads },
    answers: {
      200: jsonAnswer(
        'Those that are there, and the keys of those that are not.',
        z.strictObject({ downloads: z.array(answers.blobDownload), missing: keys }),
      ),
      303: largeAnswer,
    },
  },
  blobHead: {
    id: 'headBlobs',
    summary: 'Find out which blobs are there',
    body: { 'application/json': schemas.blobHead },
    answers: {
      200: jsonAnswer(
        'Those that are there, and the keys of those that are not.',
        z.strictObject({ blobs: z.array(answers.blobInfo), missing: keys }),
      ),
    },
  },
  blobList: {
    id: 'listBlobs',
    summary: 'List blobs by the beginning of their keys',
    body: { 'application/json': schemas.blobList },
    answers: {
      200: jsonAnswer('All of them.', z.strictObject({ blobs: z.array(answers.blobInfo) })),
      303: largeAnswer,
    },
  },
  blobDelete: {
    id: 'deleteBlobs',
    summary: 'Delete blobs that no checkpoint uses',
    description:
      'While a writer lease is live they are `waiting`: they count as missing, and a later sweep deletes them.',
    body: { 'application/json': schemas.blobDelete },
    answers: { 200: jsonAnswer('What became of them.', z.strictObject({ deleted: keys, waiting: keys })) },
    errors: ['blob_in_use'],
  },
}
