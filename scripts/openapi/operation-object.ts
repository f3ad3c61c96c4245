import * as z from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from 'zod-openapi'
import type { DescribedRoute } from '../../lambdas/openapi/all-operations.ts'
import { answersOf, type KnownAnswer } from '../../lambdas/openapi/answers.ts'
import { COMMON_ERRORS, CREDENTIAL_ERRORS, type ErrorCode } from '../../lambdas/openapi/error-codes.ts'
import type { Content, Operation } from '../../lambdas/openapi/operation.ts'
import { uploadReference } from '../../lambdas/openapi/schemas.ts'
import type { AnyRoute } from '../../lambdas/shared/routes.ts'
import { TENANCY } from './components.ts'
import { contentObject, responseObject } from './response-object.ts'

/** A route as it stands in the description. */
export function operationObject({ route, operation, tag }: DescribedRoute): ZodOpenApiOperationObject {
  const { params, query, headers, body } = operation
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: descriptionOf(route, operation),
    tags: [tag],
    ...(route.role === undefined ? { security: [] } : { parameters: TENANCY }),
    requestParams: {
      ...(params && { path: params }),
      ...(query && { query }),
      ...(headers && { header: headers }),
    },
    ...(body && {
      requestBody: { required: !operation.bodyOptional, content: contentObject(withReference(route, body)) },
    }),
    responses: Object.fromEntries(
      [...answersOf(operation, route)].map(([status, answer]) => [status, sharedResponse(status, answer, operation)]),
    ),
  }
}

function descriptionOf(route: AnyRoute, { description }: Operation): string {
  const access =
    route.role === undefined
      ? 'It takes no credentials, no tenant and no project.'
      : `It takes the role \`${route.role}\`, and of a token the permission \`${route.permission}\`.`
  return [...(description === undefined ? [] : [description]), access].join('\n\n')
}

/** Large JSON may be uploaded before, and named. */
function withReference(route: AnyRoute, body: Content): Content {
  const schema = body['application/json']
  if (route.role === undefined || route.upload === undefined || typeof schema !== 'object') return body
  return { 'application/json': z.union([schema, uploadReference]) }
}

const common: ReadonlySet<ErrorCode> = new Set([...COMMON_ERRORS, ...CREDENTIAL_ERRORS])
const shared = new Map<string, ZodOpenApiResponseObject>()

/** What any route may answer is one object for all, which then stands in the description once. */
function sharedResponse(status: string, answer: KnownAnswer, { errorBody }: Operation): ZodOpenApiResponseObject {
  const { codes } = answer
  if (codes.length === 0 || errorBody || !codes.every((code) => common.has(code))) return responseObject(answer)
  const response = shared.get(status) ?? { ...responseObject(answer), id: `Error${status}` }
  shared.set(status, response)
  return response
}
