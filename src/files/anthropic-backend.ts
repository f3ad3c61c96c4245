import { randomUUID } from 'node:crypto'
import { DeleteObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { SandkeepError } from '../errors.ts'
import { FILE_INTENTS, fileIntentKey, providerClaimKey } from '../table/keys.ts'
import { NEW_ITEM, type Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import type { AnthropicFilesApi } from './anthropic-api.ts'
import { upstreamFailed } from './anthropic-errors.ts'
import type { FilesBackend, NewContent, StoredContent } from './backend.ts'
import { timeText } from './items.ts'
import { readObject } from './s3-backend.ts'

export interface AnthropicBackendConfig {
  table: Table
  s3: S3Client
  bucketName: string
  scope: Scope
  api: AnthropicFilesApi
  now: () => number
}

/** An upload that has begun, as a sweep finds it when it never came to an end. */
export interface UploadIntent {
  name: string
  startedAt: number
  /** As Anthropic was told it. */
  filename: string
  sizeBytes: number
  expiresInSeconds: number
}

/** What Anthropic refuses in a file name. */
const refusedInNames = /[<>:"|?*]/g

/**
 * Keeps files with Anthropic, under its ids. An intent is written before a file is sent there, and goes with the
 * record of the file: of an upload that ended in between, the intent tells what to look for.
 */
export function createAnthropicBackend(config: AnthropicBackendConfig): FilesBackend {
  const { api, s3, bucketName } = config
  const backend: FilesBackend = {
    store: (content, bytes) => store(config, content, bytes),
    async adopt(content, objectKey) {
      const object = { Bucket: bucketName, Key: objectKey }
      const bytes = await readObject(s3, object)
      if (!bytes) throw new Error('The object of an upload disappeared while it was completed.')
      return {
        ...(await store(config, content, bytes)),
        settle: async () => {
          await retryTransient(() => s3.send(new DeleteObjectCommand(object)))
        },
      }
    },
    async open({ id }, signal) {
      const stream = await api.content(id, signal)
      return stream && { kind: 'pieces', pieces: pieces(stream) }
    },
    async describe(id) {
      const found = await api.get(id)
      if (!found) return null
      const { filename, mimeType, sizeBytes, downloadable, expiresAt } = found
      return { filename, mimeType, sizeBytes, downloadable, expiresAt }
    },
    remove: (id) => api.delete(id),
  }
  return backend
}

async function store(
  { table, scope, api, now }: AnthropicBackendConfig,
  { filename, mimeType, sizeBytes, expiresInSeconds }: NewContent,
  bytes: Uint8Array,
): Promise<StoredContent> {
  if (expiresInSeconds === null) throw new Error('A file of this backend expires.')
  const startedAt = now()
  const name = `${timeText(startedAt)}#${randomUUID()}`
  const upload = { filename: filename.replace(refusedInNames, '_'), mimeType, expiresInSeconds }
  const intent = { filename: upload.filename, sizeBytes, expiresInSeconds, startedAt }
  const intentKey = fileIntentKey(scope, name)
  await retryTransient(() => table.put({ ...intentKey, ...intent }))
  try {
    const { id } = await api.upload({ ...upload, bytes })
    const claim = { ...providerClaimKey(id), tenant: scope.tenant, project: scope.project }
    const actions = [
      table.transactDelete(intentKey, { condition: 'attribute_exists(pk)', names: {}, values: {} }),
      table.transactPut(claim, NEW_ITEM),
    ]
    const abandon = async (): Promise<void> => {
      await api.delete(id)
      await retryTransient(() => table.delete(intentKey))
    }
    return { id, actions, abandon }
  } catch (error) {
    // A refusal leaves nothing behind. Of a failure nobody knows: the intent stays for the sweep.
    if (error instanceof SandkeepError && error.status < 500) await retryTransient(() => table.delete(intentKey))
    throw error
  }
}

/** The intents of a scope, the oldest first. */
export async function readIntents(table: Table, partition: string): Promise<UploadIntent[]> {
  const intents: UploadIntent[] = []
  for await (const items of table.query(partition, { prefix: FILE_INTENTS })) {
    for (const item of items) {
      intents.push({
        name: (item.sk as string).slice(FILE_INTENTS.length),
        startedAt: item.startedAt as number,
        filename: item.filename as string,
        sizeBytes: item.sizeBytes as number,
        expiresInSeconds: item.expiresInSeconds as number,
      })
    }
  }
  return intents
}

async function* pieces(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream
  } catch (cause) {
    throw upstreamFailed(cause)
  }
}
