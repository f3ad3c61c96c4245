import type { ZodOpenApiComponentsObject } from 'zod-openapi'
import { errorAnswer } from '../../lambdas/openapi/answers.ts'
import { errorBody } from '../../lambdas/openapi/schemas.ts'
import { PROJECT_HEADER, TENANT_HEADER } from '../../src/tenancy/scope.ts'
import { responseObject } from './response-object.ts'

/** The headers of every request with credentials. */
export const TENANCY = [{ $ref: '#/components/parameters/Tenant' }, { $ref: '#/components/parameters/Project' }]

/** The parts that operations refer to by name; those of schemas come by themselves. */
export function components(): ZodOpenApiComponentsObject {
  return {
    securitySchemes: {
      apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'An API key.' },
      token: {
        type: 'http',
        scheme: 'bearer',
        description: 'A token of the identity provider. Alone, an API key may stand there too.',
      },
    },
    parameters: {
      Tenant: nameHeader(TENANT_HEADER, 'tenant'),
      Project: nameHeader(PROJECT_HEADER, 'project'),
    },
    headers: {
      RequestId: { description: 'Under which the gateway and the logs know the request.', schema: { type: 'string' } },
    },
    responses: {
      NotFound: responseObject(errorAnswer(['not_found'], errorBody)),
      MethodNotAllowed: responseObject(errorAnswer(['method_not_allowed'], errorBody)),
    },
  }
}

function nameHeader(name: string, what: string) {
  return {
    name,
    in: 'header' as const,
    required: true,
    description: `The ${what} that the request is about. Case is kept.`,
    schema: { type: 'string' as const, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' },
  }
}
