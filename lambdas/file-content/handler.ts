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
import { input } from './schemas.ts'

/** Names the place in the storage to those who ask not to be redirected there. */
const LOCATION_HEADER = 'x-sandbox-location'

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
      content: action(input, async ({ redirect }, call: StreamCall) => {
        const { file, content } = await files(call).open(call.params.file_id ?? '', call.signal)
        if (content.kind === 'redirect') return redirection(content.url, redirect)
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

function redirection(location: string, redirect: 'manual' | undefined) {
  return redirect === 'manual'
    ? json(200, { location }, { [LOCATION_HEADER]: location })
    : json(307, { location }, { location })
}
