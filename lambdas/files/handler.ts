import { ForbiddenError } from '../../src/errors.ts'
import { createFileStore } from '../../src/files/store.ts'
import type { FileRecord, FileStore } from '../../src/files/types.ts'
import { hasRight } from '../shared/access.ts'
import { actingUser, userOf } from '../shared/acting-user.ts'
import { action, parseInput } from '../shared/action.ts'
import { json, noContent } from '../shared/answer.ts'
import { type ApiHandler, createApiHandler } from '../shared/api.ts'
import type { FilesHandlerConfig } from '../shared/files-config.ts'
import { log } from '../shared/log.ts'
import type { Call, Principal } from '../shared/request.ts'
import { timestamp } from '../shared/timestamp.ts'
import type { UploadForm } from './form.ts'
import { requestContent } from './request-content.ts'
import { ROUTES } from './routes.ts'
import { formFields, list, nothing, upload } from './schemas.ts'

/** The files service, without the contents of files. */
export function createHandler(config: FilesHandlerConfig): ApiHandler {
  return createServiceHandler(filesOf(config), config)
}

/** The store of a request's user. */
export function filesOf(config: FilesHandlerConfig): (call: Call) => FileStore {
  const onLeftover = (error: unknown): void => log('WARN', 'The bytes of a file are left to the sweep.', { error })
  return (call) => createFileStore({ ...config, scope: call.scope, user: userOf(call), onLeftover })
}

/** The same over any store. */
export function createServiceHandler(
  files: (call: Call) => FileStore,
  { corsOrigins }: Pick<FilesHandlerConfig, 'corsOrigins'>,
): ApiHandler {
  return createApiHandler({
    routes: ROUTES,
    corsOrigins,
    body: [actingUser(), requestContent()],
    actions: {
      create: async (call) => {
        const { fields, ...file } = call.body as UploadForm
        const { scope, origin, expires_in_seconds } = parseInput(formFields, fields)
        const fromSandbox = isFromSandbox(origin, call.principal)
        const made = await files(call).create({ ...file, scope, expiresInSeconds: expires_in_seconds, fromSandbox })
        return json(201, shownFile(made))
      },
      list: action(list, async (input, call) => {
        const page = await files(call).list(input)
        return json(200, { data: page.files.map(shownFile), next_page: page.nextPage })
      }),
      get: action(nothing, async (_none, call) => json(200, shownFile(await files(call).get(fileIdOf(call))))),
      delete: action(nothing, async (_none, call) => {
        await files(call).delete(fileIdOf(call))
        return noContent()
      }),
      startUpload: action(upload, async ({ origin, ...input }, call) => {
        const { uploadId, request } = await files(call).startUpload({
          filename: input.filename,
          mimeType: input.mime_type,
          sizeBytes: input.size_bytes,
          sha256: input.sha256,
          expiresInSeconds: input.expires_in_seconds,
          scope: input.scope,
          fromSandbox: isFromSandbox(origin, call.principal),
        })
        const { method, url, headers, expiresAt } = request
        return json(201, { upload_id: uploadId, method, url, headers, expires_at: timestamp(expiresAt) })
      }),
      completeUpload: action(nothing, async (_none, call) => {
        const { file, isNew } = await files(call).completeUpload(call.params.upload_id ?? '')
        return json(isNew ? 201 : 200, shownFile(file))
      }),
    },
  })
}

function fileIdOf({ params }: Call): string {
  return params.file_id ?? ''
}

/** @throws ForbiddenError when the caller may not leave files as a sandbox does */
function isFromSandbox(origin: 'sandbox' | undefined, principal: Principal): boolean {
  if (origin === 'sandbox' && !hasRight(principal, 'act_as_sandbox')) {
    throw new ForbiddenError('To leave files as a sandbox does, a key needs the right act_as_sandbox.')
  }
  return origin === 'sandbox'
}

function shownFile(file: FileRecord) {
  return {
    type: 'file',
    id: file.id,
    filename: file.filename,
    mime_type: file.mimeType,
    size_bytes: file.sizeBytes,
    created_at: timestamp(file.createdAt),
    downloadable: file.downloadable,
    expires_at: file.expiresAt === null ? null : timestamp(file.expiresAt),
  }
}
