import type { APIGatewayProxyResult } from 'aws-lambda'
import { NotFoundError } from '../../src/errors.ts'
import { INLINE_LIMIT_BYTES } from '../../src/limits.ts'
import { checkContentType } from '../../src/memory/names.ts'
import type { MemoryStore, StoredArtifact } from '../../src/memory/types.ts'
import { ownerText } from '../shared/access.ts'
import { type Action, action, parseInput } from '../shared/action.ts'
import { json } from '../shared/answer.ts'
import { type ByteRange, readRange } from '../shared/byte-range.ts'
import { noneMatchNames } from '../shared/etag.ts'
import { timestamp } from '../shared/timestamp.ts'
import { shownArtifact } from './answers.ts'
import { artifactOf } from './path-parameters.ts'
import type { ArtifactConditions, ArtifactContent } from './request-content.ts'
import type { MemoryAction } from './routes.ts'
import { noParameters, upload } from './schemas.ts'
import type { Memory } from './service.ts'

/** Each meets an artifact that was replaced, and its old bytes removed, after it was found. */
const MAX_READS = 5

type ArtifactAction = Extract<MemoryAction, `${string}Artifact` | `${string}Upload`>

/** Artifacts: small ones as the bytes of a request or an answer, large ones straight between the caller and S3. */
export function artifactActions(memory: Memory): Record<ArtifactAction, Action> {
  return {
    putArtifact: async (call) => {
      const content = call.body as ArtifactContent
      const record = await memory(call).putArtifact({
        ...artifactOf(call.params),
        ...content,
        by: ownerText(call.principal),
      })
      return json(200, shownArtifact(record))
    },
    getArtifact: async (call) => {
      const conditions = call.body as ArtifactConditions
      parseInput(noParameters, conditions.query)
      const store = memory(call)
      for (let read = 1; read <= MAX_READS; read++) {
        const stored = await store.findArtifact(artifactOf(call.params))
        const answer = stored && (await download(store, stored, conditions))
        if (answer) return answer
        if (!stored) break
      }
      throw new NotFoundError()
    },
    startUpload: action(upload, async ({ size_bytes, content_type, sha256 }, call) => {
      const { uploadId, request } = await memory(call).startUpload({
        ...artifactOf(call.params),
        sizeBytes: size_bytes,
        contentType: checkContentType(content_type),
        sha256,
        by: ownerText(call.principal),
      })
      const { method, url, headers, expiresAt } = request
      return json(201, { upload_id: uploadId, method, url, headers, expires_at: timestamp(expiresAt) })
    }),
    completeUpload: async (call) => {
      const record = await memory(call).completeUpload({
        ...artifactOf(call.params),
        uploadId: call.params.upload_id ?? '',
        by: ownerText(call.principal),
      })
      return json(200, shownArtifact(record))
    },
  }
}

/** Null: the bytes have gone since the artifact was found. */
async function download(
  store: MemoryStore,
  stored: StoredArtifact,
  { ifNoneMatch, ifRange, range }: ArtifactConditions,
): Promise<APIGatewayProxyResult | null> {
  const etag = `"${stored.sha256}"`
  // Kept by caches, and asked for again each time: an artifact may be replaced at once.
  const headers = { etag, 'cache-control': 'private, no-cache' }
  if (noneMatchNames(ifNoneMatch, etag)) return empty(304, headers)
  if (stored.sizeBytes > INLINE_LIMIT_BYTES) return redirect(store, stored)
  const whole = ifRange.length > 0 && ifRange.join().trim() !== etag
  const wanted = whole ? undefined : readRange(range, stored.sizeBytes)
  if (wanted === 'unsatisfiable') {
    return empty(416, { ...headers, 'content-range': `bytes */${stored.sizeBytes}` })
  }
  const bytes = await store.readArtifact(stored, wanted)
  if (!bytes) return null
  return {
    statusCode: wanted ? 206 : 200,
    headers: {
      ...headers,
      'content-type': stored.contentType,
      'accept-ranges': 'bytes',
      ...(wanted && { 'content-range': contentRange(wanted, stored.sizeBytes) }),
    },
    body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
    isBase64Encoded: true,
  }
}

async function redirect(store: MemoryStore, stored: StoredArtifact): Promise<APIGatewayProxyResult> {
  const { url } = await store.presignArtifact(stored)
  return json(307, { location: url, ...shownArtifact(stored) }, { location: url })
}

function contentRange({ start, end }: ByteRange, size: number): string {
  return `bytes ${start}-${end}/${size}`
}

function empty(statusCode: number, headers: Record<string, string>): APIGatewayProxyResult {
  return { statusCode, headers, body: '', isBase64Encoded: false }
}
