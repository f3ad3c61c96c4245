import { parseFixedJson, readJsonText, readQuery } from '../shared/body-text.ts'
import type { ApiEvent, ApiMiddleware, ApiRequest } from '../shared/request.ts'
import { readForm } from './form.ts'
import { type FileAction, UPLOADS_PATH } from './routes.ts'

/**
 * Sets `call.body` to what the request brings, as its action takes it: a form, fixed fields, query parameters.
 * @throws UnsupportedMediaTypeError, PayloadTooLargeError, InvalidInputError
 */
export function requestContent(): ApiMiddleware {
  const requestContentBefore = async ({ event }: ApiRequest): Promise<void> => {
    const action = event.call?.route?.action as FileAction
    event.call = { ...event.call, body: await readers[action](event) }
  }
  return { before: requestContentBefore }
}

const readers: Record<FileAction, (event: ApiEvent) => unknown> = {
  create: (event) => readForm(event, UPLOADS_PATH),
  list: readQuery,
  get: readQuery,
  delete: readQuery,
  startUpload: (event) => parseFixedJson(readJsonText(event)),
  // What there is to say stands in the path: a body is not needed.
  completeUpload: (event) => (event.body ? parseFixedJson(readJsonText(event)) : {}),
}
