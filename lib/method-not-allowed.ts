import {
  AuthorizationType,
  ContentHandling,
  type IResource,
  MockIntegration,
  PassthroughBehavior,
} from 'aws-cdk-lib/aws-apigateway'
import { SECURITY_HEADERS } from '../lambdas/shared/security-headers.ts'

const STATUS = '405'

const corsHeaders = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' }

/** The types that common clients send. The gateway answers 415 to a body of another type before it sees the method. */
const requestTypes = [
  'application/json',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'text/plain',
]

/**
 * Answers every method that the resource does not have with 405 and the methods that it has, without a function.
 * @param readable whether pages of other origins may read it
 */
export function refuseOtherMethods(resource: IResource, allowed: readonly string[], readable: boolean): void {
  const allow = [...allowed].sort().join(', ')
  const message = `This path takes ${allow}.`
  const headers = Object.entries({ allow, ...SECURITY_HEADERS, ...(readable && corsHeaders) })
  const integration = new MockIntegration({
    // All types are binary in this API, and a mock cannot read a binary request or give a binary answer.
    contentHandling: ContentHandling.CONVERT_TO_TEXT,
    passthroughBehavior: PassthroughBehavior.NEVER,
    requestTemplates: Object.fromEntries(requestTypes.map((type) => [type, `{"statusCode":${STATUS}}`])),
    integrationResponses: [
      {
        statusCode: STATUS,
        contentHandling: ContentHandling.CONVERT_TO_TEXT,
        responseParameters: {
          'method.response.header.x-request-id': 'context.requestId',
          ...Object.fromEntries(headers.map(([name, value]) => [`method.response.header.${name}`, `'${value}'`])),
        },
        responseTemplates: {
          'application/json': JSON.stringify({ error: { code: 'method_not_allowed', message } }),
        },
      },
    ],
  })
  resource.addMethod('ANY', integration, {
    authorizationType: AuthorizationType.NONE,
    methodResponses: [
      {
        statusCode: STATUS,
        responseParameters: {
          'method.response.header.x-request-id': true,
          ...Object.fromEntries(headers.map(([name]) => [`method.response.header.${name}`, true])),
        },
      },
    ],
  })
}
