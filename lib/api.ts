import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import {
  AccessLogFormat,
  ApiKeySourceType,
  AuthorizationType,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  RequestAuthorizer,
  ResponseTransferMode,
  RestApi,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway'
import type { ICertificate } from 'aws-cdk-lib/aws-certificatemanager'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { ARecord, type IHostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53'
import { ApiGateway } from 'aws-cdk-lib/aws-route53-targets'
import { Construct } from 'constructs'
import type { AnyRoute } from '../lambdas/shared/routes.ts'
import type { ThrottleSlots } from '../src/keys/throttle-slots.ts'
import { acknowledge } from './acknowledge.ts'
import { addGatewayResponses } from './gateway-responses.ts'
import { refuseOtherMethods } from './method-not-allowed.ts'
import { CallerThrottling, limitsPerKey, type Throttling } from './throttling.ts'

/** A function and the routes that it answers. */
export interface ServiceRoutes {
  readonly handler: IFunction
  readonly routes: readonly AnyRoute[]
  /** Whether its answers are passed on as they come. Its handler must be one for that. @default false */
  readonly streams?: boolean
  /** Whether pages of `corsOrigins` may call it. @default false */
  readonly cors?: boolean
}

export interface SandkeepApiProps {
  readonly services: readonly ServiceRoutes[]
  readonly authorizer: IFunction
  /** Whose pages may read the answers of the services with `cors`. */
  readonly corsOrigins: readonly string[]
  readonly throttling: Throttling
  /** The callers whose requests are counted, as the authorizer knows them. */
  readonly slots: ThrottleSlots
  readonly logRetention: RetentionDays
  readonly cloudWatchRole: boolean
  /** Whether requests are traced with X-Ray. */
  readonly tracing: boolean
  /** @default the gateway's own name alone */
  readonly domain?: ApiDomain | undefined
}

/** A name of one's own for the API. */
export interface ApiDomain {
  readonly name: string
  /** For the name, in the Region of the stack. */
  readonly certificate: ICertificate
  /** Where the name is made to point to the API. @default nowhere: it is done by hand */
  readonly hostedZone?: IHostedZone
}

/** The longest that the gateway waits for a function, without a raised quota. */
export const INTEGRATION_TIMEOUT = Duration.seconds(29)

/** The longest that the gateway takes a streamed answer; a function's own timeout may end it before. */
export const STREAM_TIMEOUT = Duration.minutes(15)

const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: '$context.requestId',
    requestTime: '$context.requestTime',
    sourceIp: '$context.identity.sourceIp',
    method: '$context.httpMethod',
    path: '$context.path',
    status: '$context.status',
    responseLength: '$context.responseLength',
    responseLatencyMs: '$context.responseLatency',
    integrationLatencyMs: '$context.integrationLatency',
    keyId: '$context.authorizer.keyId',
    principalId: '$context.authorizer.principalId',
    gatewayResponse: '$context.error.responseType',
    integrationError: '$context.integrationErrorMessage',
  }),
)

/** The REST API: one method for each route of the services, behind the authorizer. */
export class SandkeepApi extends Construct {
  readonly restApi: RestApi
  /** Where the API answers, without a slash at the end. */
  readonly url: string

  constructor(scope: Construct, id: string, props: SandkeepApiProps) {
    super(scope, id)
    const accessLogs = new LogGroup(this, 'AccessLogs', {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    this.restApi = new RestApi(this, 'RestApi', {
      restApiName: Stack.of(this).stackName,
      endpointTypes: [EndpointType.REGIONAL],
      // Bodies reach the functions as the bytes that were sent, whatever their content type says.
      binaryMediaTypes: ['*/*'],
      // Whose requests are counted the authorizer says: the gateway takes no header of a client for it.
      apiKeySourceType: ApiKeySourceType.AUTHORIZER,
      cloudWatchRole: props.cloudWatchRole,
      deployOptions: {
        stageName: 'api',
        throttlingRateLimit: props.throttling.rateLimit,
        throttlingBurstLimit: props.throttling.burstLimit,
        accessLogDestination: new LogGroupLogDestination(accessLogs),
        accessLogFormat,
        tracingEnabled: props.tracing,
      },
      // Behind a name of its own the API has no other, so that nothing can be set up around it.
      ...(props.domain && {
        disableExecuteApiEndpoint: true,
        domainName: {
          domainName: props.domain.name,
          certificate: props.domain.certificate,
          endpointType: EndpointType.REGIONAL,
          securityPolicy: SecurityPolicy.TLS_1_2,
        },
      }),
    })
    acknowledge(this.restApi, {
      'AwsSolutions-APIG2': 'The functions check every request, by rules that a model of the gateway cannot state.',
      'AwsSolutions-APIG3': 'A firewall is the choice of who deploys, and is put before the stage from outside.',
      'AwsSolutions-APIG4':
        'Every method of a route asks the authorizer, but that of the description of the API, which is for all. The others answer 405 from a constant.',
      'AwsSolutions-APIG6':
        'The log of each execution would hold headers and bodies, which are secrets. Access log and functions tell the rest.',
      'AwsSolutions-COG4': 'Callers have API keys or tokens of an identity provider, which the authorizer checks.',
      'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]':
        'The only policy that lets API Gateway write logs, as AWS manages it.',
      'Serverless-APIGWXrayEnabled': 'Tracing is a property of the construct, off by default for its cost.',
    })
    // The output that comes with it ends in a slash, which breaks what is appended to it.
    this.restApi.node.tryRemoveChild('Endpoint')
    const { region, urlSuffix } = Stack.of(this)
    const { stageName } = this.restApi.deploymentStage
    this.url = props.domain
      ? `https://${props.domain.name}`
      : `https://${this.restApi.restApiId}.execute-api.${region}.${urlSuffix}/${stageName}`
    if (props.domain?.hostedZone) {
      new ARecord(this, 'Name', {
        zone: props.domain.hostedZone,
        recordName: props.domain.name,
        target: RecordTarget.fromAlias(new ApiGateway(this.restApi)),
      })
    }
    addGatewayResponses(this.restApi, props.corsOrigins.length > 0)
    new CallerThrottling(this, 'Callers', {
      stage: this.restApi.deploymentStage,
      limits: limitsPerKey(props.throttling),
      slots: props.slots,
    })

    const authorizer = new RequestAuthorizer(this, 'Authorizer', {
      handler: props.authorizer,
      // With an identity source the gateway would cache, and refuse by itself what lacks it.
      identitySources: [],
      resultsCacheTtl: Duration.seconds(0),
    })
    for (const { handler, routes, streams, cors } of props.services) {
      const integration = new LambdaIntegration(handler, {
        ...(streams
          ? { timeout: STREAM_TIMEOUT, responseTransferMode: ResponseTransferMode.STREAM }
          : { timeout: INTEGRATION_TIMEOUT }),
        scopePermissionToMethod: false,
      })
      for (const [path, ofPath] of Object.entries(Object.groupBy(routes, (route) => route.path))) {
        const resource = this.restApi.root.resourceForPath(path)
        const methods: string[] = (ofPath ?? []).map((route) => route.method)
        for (const { method, role } of ofPath ?? []) {
          const access =
            role === undefined
              ? { authorizationType: AuthorizationType.NONE }
              : { authorizer, authorizationType: AuthorizationType.CUSTOM, apiKeyRequired: true }
          resource.addMethod(method, integration, access)
        }
        const readable = cors === true && props.corsOrigins.length > 0
        if (readable) {
          // Browsers ask without credentials.
          resource.addMethod('OPTIONS', integration, { authorizationType: AuthorizationType.NONE })
          methods.push('OPTIONS')
        }
        refuseOtherMethods(resource, methods, readable)
      }
    }
  }
}
