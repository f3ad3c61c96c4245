import type { ZodOpenApiContentObject, ZodOpenApiResponseObject } from 'zod-openapi'
import type { Answer, Content } from '../../lambdas/openapi/operation.ts'

/** An answer as it stands in the description, with the headers that all have. */
export function responseObject({ description, headers = {}, content }: Answer): ZodOpenApiResponseObject {
  const own = Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }])
  return {
    description,
    headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' }, ...Object.fromEntries(own) },
    ...(content && { content: contentObject(content) }),
  }
}

/** A body as it stands in the description. Bytes have no schema. */
export function contentObject(content: Content): ZodOpenApiContentObject {
  return Object.fromEntries(
    Object.entries(content).map(([type, body]) => {
      if (body === 'bytes') return [type, {}]
      return [type, { schema: body === 'text' ? { type: 'string' } : body }]
    }),
  )
}
