import { mapHeaders } from './constant-mapping.ts'
import type { MockIntegrationModel } from './model.ts'
import { type Answer, Refusal } from './refusal.ts'

/** Answers for a mock. @throws Refusal when no template is for the request's content type */
export function mockAnswer(mock: MockIntegrationModel, contentType: string | undefined, requestId: string): Answer {
  const mediaType = (contentType ?? 'application/json').split(';')[0]?.trim().toLowerCase() ?? ''
  if (!mock.requestTypes.has(mediaType)) throw new Refusal('UNSUPPORTED_MEDIA_TYPE')
  return {
    status: mock.status,
    headers: [['content-type', mock.contentType], ...Object.entries(mapHeaders(mock.headers, requestId))],
    body: Buffer.from(mock.body),
  }
}
