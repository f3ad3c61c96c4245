import * as z from 'zod'
import { attachment } from '../../src/files/disposition.ts'
import type { FileStore } from '../../src/files/types.ts'
import { filesOf } from '../files/handler.ts'
import { actingUser } from '../shared/acting-user.ts'
import { action } from '../shared/action.ts'
import { json } from '../shared/answer.ts'
import type { FilesHandlerConfig } from '../shared/files-config.ts'
import { query } from '../shared/query.ts'
import type { StreamCall } from '../shared/request.ts'
import { createStreamHandler, type StreamHandler } from '../shared/stream.ts'
import { ROUTES } from './routes.ts'

/** The contents of files: streamed, or a redirect to the storage. */
export function createHandler(config: FilesHandlerConfig): StreamHandler {
  return createServiceHandler(filesOf(config), config)
}

/** The same over any store. */
export function createServiceHandler(
  files: (call: StreamCall) => Pick<FileStore, 'open'>,
  { corsOrigins }: Pick<FilesHandlerConfig, 'corsOrigins'>,
): StreamHandler {
  return createStreamHandler({
    routes: ROUTES,
    corsOrigins,
    body: [actingUser(), query()],
    actions: {
      content: action(z.strictObject({}), async (_none, call: StreamCall) => {
        const { file, content } = await files(call).open(call.params.file_id ?? '', call.signal)
        if (content.kind === 'redirect') return json(307, { location: content.url }, { location: content.url })
        const headers = {
          'cache-control': 'no-store',
          'content-type': file.mimeType,
          'content-disposition': attachment(file.filename),
        }
        return { statusCode: 200, headers, body: content.pieces }
      }),
    },
  })
}
