import path from 'node:path'
import { type Duration, RemovalPolicy } from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Architecture, type CfnFunction, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda'
import { LogLevel, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { ENVIRONMENT } from '../src/environment.ts'
import { acknowledge } from './acknowledge.ts'

/** The template's metadata key that says which folder of `lambdas/` a function is. */
export const FUNCTION_METADATA = 'sandkeep:function'

/** The folders of `lambdas/` that hold a handler. */
export type ServiceName =
  | 'anthropic'
  | 'authorizer'
  | 'bundles'
  | 'checkpoints'
  | 'file-content'
  | 'files'
  | 'instances'
  | 'keys'
  | 'memory'
  | 'openapi'
  | 'project-md'
  | 'sandboxes'
  | 'sweep'

export interface ServiceFunctionProps {
  readonly service: ServiceName
  readonly description: string
  /** In MB. */
  readonly memorySize: number
  readonly timeout: Duration
  /** For the engine that runs the function. @default its own */
  readonly nodeOptions?: string
  readonly tableName: string
  readonly bucketName: string
  readonly logRetention: RetentionDays
  /** All that the function may do, besides writing to its log group. */
  readonly statements: PolicyStatement[]
  /** Variables besides the names of the table and the bucket. */
  readonly environment?: Record<string, string>
  /** How often an event is delivered again after the function failed. @default Lambda's own: 2 */
  readonly retryAttempts?: number
  /** How many may run at once, taken from what the account has. @default as many as the account has left */
  readonly reservedConcurrency?: number
  /** Whether requests are traced with X-Ray. */
  readonly tracing: boolean
  /** What the table and the bucket are encrypted with, when it is a key of one's own. */
  readonly encryptionKey?: IKey
}

// The sources run as .ts in the repository and as .js under dist/ in the published package.
const extension = path.extname(import.meta.filename)
const sourceRoot = path.dirname(import.meta.dirname)
const packageRoot = extension === '.ts' ? sourceRoot : path.dirname(sourceRoot)

/** One function of `lambdas/`, bundled with its share of the AWS SDK, with its own role and log group. */
export class ServiceFunction extends NodejsFunction {
  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    const logGroup = new LogGroup(scope, `${id}Logs`, {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    })
    const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') })
    logGroup.grantWrite(role)
    for (const statement of props.statements) role.addToPolicy(statement)
    if (props.encryptionKey) role.addToPolicy(onKey(props.encryptionKey))

    super(scope, id, {
      description: props.description,
      entry: path.join(sourceRoot, 'lambdas', props.service, `index${extension}`),
      projectRoot: packageRoot,
      // Only its folder matters here. A lock file is not part of the published package.
      depsLockFilePath: path.join(packageRoot, 'package.json'),
      handler: 'handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: props.memorySize,
      timeout: props.timeout,
      role,
      logGroup,
      environment: {
        [ENVIRONMENT.tableName]: props.tableName,
        [ENVIRONMENT.bucketName]: props.bucketName,
        POWERTOOLS_SERVICE_NAME: props.service,
        POWERTOOLS_LOG_LEVEL: 'INFO',
        ...(props.nodeOptions !== undefined && { NODE_OPTIONS: props.nodeOptions }),
        ...props.environment,
      },
      ...(props.retryAttempts !== undefined && { retryAttempts: props.retryAttempts }),
      ...(props.reservedConcurrency !== undefined && { reservedConcurrentExecutions: props.reservedConcurrency }),
      tracing: props.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      bundling: {
        format: OutputFormat.ESM,
        target: 'node24',
        mainFields: ['module', 'main'],
        minify: true,
        keepNames: true,
        bundleAwsSDK: true,
        // Packages that are no modules ask for Node's own parts in their way.
        banner: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
        logLevel: LogLevel.WARNING,
      },
    })
    if (props.tracing) acknowledge(role, { 'AwsSolutions-IAM5[Resource::*]': 'X-Ray knows no resources.' })
    acknowledge(this, {
      'Serverless-LambdaAsyncFailureDestination': 'What a failed call left undone, the next one finds and does.',
      'Serverless-LambdaDLQ':
        'It is called for an answer, or what a failed call left undone the next one finds and does.',
      'Serverless-LambdaTracing': 'Tracing is a property of the construct, off by default for its cost.',
    })
    const resource = this.node.defaultChild as CfnFunction
    resource.cfnOptions.metadata = { ...resource.cfnOptions.metadata, [FUNCTION_METADATA]: props.service }
  }
}

/** What the table and the bucket need of whoever uses them. */
function onKey({ keyArn }: IKey): PolicyStatement {
  const actions = [
    'Decrypt',
    'DescribeKey',
    'Encrypt',
    'GenerateDataKey',
    'GenerateDataKeyWithoutPlaintext',
    'ReEncryptFrom',
    'ReEncryptTo',
  ]
  return new PolicyStatement({ actions: actions.map((action) => `kms:${action}`), resources: [keyArn] })
}
