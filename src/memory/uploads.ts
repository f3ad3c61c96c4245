import { artifactObjectKey } from '../blobs/object-keys.ts'
import type { PresignedRequest } from '../blobs/types.ts'
import { ConflictError, NotFoundError } from '../errors.ts'
import { taskKey } from '../table/keys.ts'
import { retryTransient } from '../table/transient.ts'
import type { UploadRecord } from '../uploads/uploads.ts'
import { commit } from './commit.ts'
import type { MemoryContext } from './context.ts'
import { readTask } from './items.ts'
import { newGeneration, newObjectName } from './objects.ts'
import { type ArtifactContent, artifactPlacer, planArtifact } from './put-artifact.ts'
import { writtenTask } from './task-change.ts'
import type { ArtifactId, ArtifactRecord, ArtifactUpload } from './types.ts'
import { checkArtifactId, checkContent, checkHash } from './validate.ts'

const PURPOSE = 'artifact'

/** What an upload is for. */
interface Target extends ArtifactId {
  /** The name of the object that the bytes go to. */
  object: string
  /** The task that the object belongs to. */
  generation: string
  /** There was no such task: the generation can be that of a new one. */
  isFresh: boolean
}

export async function startUpload(
  context: MemoryContext,
  upload: ArtifactUpload,
): Promise<{ uploadId: string; request: PresignedRequest }> {
  checkArtifactId(upload)
  checkContent(upload)
  checkHash(upload.sha256)
  const { table, scope, uploads } = context
  const { taskId, turn, name, sizeBytes, contentType, sha256, by } = upload
  const item = await retryTransient(() => table.get(taskKey(scope, taskId)))
  const { generation, live } = writtenTask(item && readTask(item), context.now())
  const target: Target = { taskId, turn, name, generation, object: newObjectName(generation), isFresh: !live }
  return uploads.start({
    purpose: PURPOSE,
    target: JSON.stringify(target),
    objectKey: artifactObjectKey(scope, target),
    sizeBytes,
    contentType,
    sha256,
    by,
  })
}

export async function completeUpload(
  context: MemoryContext,
  request: ArtifactId & { uploadId: string; by: string },
): Promise<ArtifactRecord> {
  checkArtifactId(request)
  const { table, uploads } = context
  let content: ArtifactContent | undefined
  return commit(table, async () => {
    const upload = await uploads.open(request.uploadId, PURPOSE)
    const target = upload && (JSON.parse(upload.target) as Target)
    if (!upload || !target || !isSame(request, target)) throw new NotFoundError()
    if (upload.result !== undefined) return { result: JSON.parse(upload.result) as ArtifactRecord }
    content ??= await uploadedContent(context, upload, target)
    const plan = await planArtifact(context, request, content)
    return { ...plan, actions: [...plan.actions, uploads.completion(upload, JSON.stringify(plan.result))] }
  })
}

async function uploadedContent(context: MemoryContext, upload: UploadRecord, target: Target): Promise<ArtifactContent> {
  const { sizeBytes, contentType } = upload
  const verified = await context.uploads.verify(upload)
  if (!verified) throw incomplete()
  const read = async () => {
    const bytes = await context.objects.get(upload.objectKey)
    if (!bytes) throw incomplete()
    return bytes
  }
  const copy = artifactPlacer(context, target, { contentType, read })
  return {
    sizeBytes,
    contentType,
    sha256: verified.sha256,
    began: context.now(),
    fresh: target.isFresh ? target.generation : newGeneration(),
    // The task may have been deleted since the upload began: then the object goes with what is left of that one.
    place: async (generation) => (generation === target.generation ? target.object : copy(generation)),
  }
}

function incomplete(): ConflictError {
  return new ConflictError('upload_incomplete', 'The bytes that were announced are not there yet.')
}

function isSame(left: ArtifactId, right: ArtifactId): boolean {
  return left.taskId === right.taskId && left.turn === right.turn && left.name === right.name
}
