import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { Policy, type PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { CfnBucket } from 'aws-cdk-lib/aws-s3'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import { Construct } from 'constructs'
import { ROUTES as anthropicRoutes } from '../lambdas/anthropic/routes.ts'
import { ROUTES as checkpointRoutes } from '../lambdas/checkpoints/routes.ts'
import { ROUTES as fileContentRoutes } from '../lambdas/file-content/routes.ts'
import { ROUTES as fileRoutes } from '../lambdas/files/routes.ts'
import { ROUTES as instanceRoutes } from '../lambdas/instances/routes.ts'
import { ROUTES as keyRoutes } from '../lambdas/keys/routes.ts'
import { ROUTES as memoryRoutes } from '../lambdas/memory/routes.ts'
import { ROUTES as openapiRoutes } from '../lambdas/openapi/routes.ts'
import { ROUTES as projectMdRoutes } from '../lambdas/project-md/routes.ts'
import { ROUTES as sandboxRoutes } from '../lambdas/sandboxes/routes.ts'
import type { OidcSettings } from '../src/access/settings.ts'
import { OBJECT_PREFIXES } from '../src/blobs/object-keys.ts'
import { ENVIRONMENT } from '../src/environment.ts'
import { slotsToEnvironment } from '../src/keys/throttle-slots.ts'
import { MEMORY_RETENTION_SECONDS, SANDBOX_RETENTION_SECONDS } from '../src/limits.ts'
import { acknowledge } from './acknowledge.ts'
import { Alarms } from './alarms.ts'
import { type ApiDomain, SandkeepApi, type ServiceRoutes } from './api.ts'
import { SandkeepBucket } from './bucket.ts'
import { checkCorsOrigins } from './cors-origins.ts'
import { SandkeepDashboard } from './dashboard.ts'
import { filesEnvironment, oidcEnvironment, retention, secretArnOf } from './function-environment.ts'
import { sizes } from './function-sizes.ts'
import { fileProvider, invocation, permissions } from './permissions.ts'
import { ServiceFunction, type ServiceFunctionProps, type ServiceName } from './service-function.ts'
import { SweepSchedule } from './sweep-schedule.ts'
import { SandkeepTable } from './table.ts'
import { STANDARD_THROTTLING, type Throttling, throttleSlots } from './throttling.ts'

export interface SandkeepProps {
  /**
   * What becomes of the table and the bucket when they are removed from the stack. With `DESTROY` the table has no
   * deletion protection and the bucket is emptied: for throw-away stages only.
   * @default RemovalPolicy.RETAIN
   */
  readonly removalPolicy?: RemovalPolicy.RETAIN | RemovalPolicy.DESTROY
  /**
   * How long the logs of the functions and of the API are kept.
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays
  /**
   * How often the sweep runs.
   * @default Duration.days(1)
   */
  readonly sweepRate?: Duration
  /**
   * How long an expired or destroyed sandbox is kept, with those of its snapshots that no task and no other sandbox
   * needs.
   * @default Duration.days(30)
   */
  readonly sandboxRetention?: Duration
  /**
   * How long a task of the project memory is kept after its last write. In whole seconds, at least one.
   * @default Duration.days(30)
   */
  readonly memoryRetention?: Duration
  /**
   * How many requests the API takes, of all and of each caller. The gateway answers 429 to the others.
   * @default 500 a second, 1,000 at once; half of that of each caller
   */
  readonly throttling?: Throttling
  /**
   * Whether to make the role with which API Gateway writes access logs. It is a setting of the whole account and
   * Region: give `false` where another stack has made it.
   * @default true
   */
  readonly cloudWatchRole?: boolean
  /**
   * The identity provider whose tokens are taken beside API keys.
   * @default none: API keys only
   */
  readonly oidc?: OidcSettings
  /**
   * How to reach Anthropic's API.
   * @default not at all
   */
  readonly anthropic?: AnthropicProps
  /**
   * Where uploaded files go: into the bucket, or on to Anthropic's Files API. Files that are there already stay where
   * they are.
   * @default 's3'
   */
  readonly filesBackend?: 's3' | 'anthropic'
  /**
   * The origins whose pages may use the files, such as `https://app.example`; `*` stands for all.
   * @default none
   */
  readonly corsOrigins?: readonly string[]
  /**
   * A name of one's own for the API, which then answers under no other.
   * @default the name that the gateway gives
   */
  readonly domain?: ApiDomain
  /**
   * The key that the table and the bucket are encrypted with.
   * @default keys of AWS's own
   */
  readonly encryptionKey?: IKey
  /**
   * How many of a function may run at once, taken from what the account has. The functions are `anthropic`,
   * `authorizer`, `bundles`, `checkpoints`, `file-content`, `files`, `instances`, `keys`, `memory`, `openapi`,
   * `project-md`, `sandboxes` and `sweep`. Others are refused.
   * @default as many as the account has left
   */
  readonly reservedConcurrency?: Partial<Readonly<Record<ServiceName, number>>>
  /**
   * Whether requests are traced with X-Ray.
   * @default false
   */
  readonly tracing?: boolean
  /**
   * Told of every alarm, and of its end.
   * @default nobody: alarms show in CloudWatch
   */
  readonly alarmTopic?: ITopic
}

export interface AnthropicProps {
  /** Holds the API key as its text. The key should be of a workspace that nothing else uses. */
  readonly secret: ISecret
  /**
   * Without `/v1`.
   * @default Anthropic's own
   */
  readonly baseUrl?: string
}

/** The whole of Sandkeep: a table, a bucket, an API, its functions, and the schedule of the sweep. */
export class Sandkeep extends Construct {
  readonly table: SandkeepTable
  readonly bucket: SandkeepBucket
  readonly api: SandkeepApi

  constructor(scope: Construct, id: string, props: SandkeepProps = {}) {
    super(scope, id)
    const removalPolicy = props.removalPolicy ?? RemovalPolicy.RETAIN
    const logRetention = props.logRetention ?? RetentionDays.ONE_MONTH
    const corsOrigins = checkCorsOrigins(props.corsOrigins ?? [])
    const { encryptionKey, reservedConcurrency, tracing = false } = props
    const sweepRate = props.sweepRate ?? Duration.days(1)
    const table = new SandkeepTable(this, 'Table', { removalPolicy, encryptionKey })
    const bucket = new SandkeepBucket(this, 'Bucket', { removalPolicy, corsOrigins, encryptionKey })
    this.table = table
    this.bucket = bucket

    acknowledge(this, objectGrants(bucket))
    for (const name of Object.keys(reservedConcurrency ?? {})) {
      if (!(name in permissions)) {
        throw new Error(
          `reservedConcurrency: there is no function "${name}". There are ${Object.keys(permissions).join(', ')}.`,
        )
      }
    }
    const functions: ServiceFunction[] = []
    const makeFunction = (id: string, service: ServiceName, more: FunctionProps) => {
      const reserved = reservedConcurrency?.[service]
      const made = new ServiceFunction(this, id, {
        service,
        ...more,
        tracing,
        ...(reserved !== undefined && { reservedConcurrency: reserved }),
        ...(encryptionKey && { encryptionKey }),
        tableName: table.tableName,
        bucketName: bucket.bucketName,
        logRetention,
        statements: [
          ...permissions[service]({ tableArn: table.tableArn, bucketArn: bucket.bucketArn }),
          ...(more.statements ?? []),
        ],
      })
      functions.push(made)
      return made
    }

    const sandboxRetention = {
      [ENVIRONMENT.sandboxRetention]: retention('sandboxRetention', props, SANDBOX_RETENTION_SECONDS),
    }
    const sweep = makeFunction('Sweep', 'sweep', {
      description: 'Removes what no checkpoint uses.',
      ...sizes.sweep,
      environment: { ...sandboxRetention, ...filesEnvironment(props) },
      statements: props.anthropic ? fileProvider(secretArnOf(props.anthropic), table) : [],
      // A sweep that failed goes on where it was with the next one.
      retryAttempts: 0,
    })
    // It calls itself for what is left. In the role's own policy this would make a circle: the function waits for that.
    new Policy(this, 'SweepGoesOn', {
      roles: sweep.role ? [sweep.role] : [],
      statements: [invocation(sweep.functionArn)],
    })
    new SweepSchedule(this, 'SweepSchedule', { handler: sweep, rate: sweepRate })

    const files = {
      environment: { ...filesEnvironment(props), [ENVIRONMENT.corsOrigins]: corsOrigins.join(' ') },
      statements: props.anthropic ? fileProvider(secretArnOf(props.anthropic), table) : [],
    }
    const bundles = makeFunction('Bundles', 'bundles', {
      description: 'Puts small files of a workspace together, for fast restores.',
      ...sizes.bundles,
      environment: sandboxRetention,
      // The next save or restore asks again.
      retryAttempts: 0,
    })
    const services: ServiceRoutes[] = [
      {
        handler: makeFunction('Anthropic', 'anthropic', {
          description: "Passes requests on to Anthropic's Messages API.",
          ...sizes.proxy,
          ...files,
        }),
        routes: anthropicRoutes,
        streams: true,
        cors: true,
      },
      {
        handler: makeFunction('Checkpoints', 'checkpoints', {
          description: 'Checkpoints, leases and blobs.',
          ...sizes.checkpoints,
          environment: { [ENVIRONMENT.sweepFunction]: sweep.functionName },
          statements: [invocation(sweep.functionArn)],
        }),
        routes: checkpointRoutes,
      },
      {
        handler: makeFunction('Files', 'files', {
          description: 'Files of users and apps.',
          ...sizes.files,
          ...files,
        }),
        routes: fileRoutes,
        cors: true,
      },
      {
        handler: makeFunction('FileContent', 'file-content', {
          description: 'Contents of files.',
          ...sizes.streaming,
          ...files,
        }),
        routes: fileContentRoutes,
        streams: true,
        cors: true,
      },
      {
        handler: makeFunction('Instances', 'instances', {
          description: 'Records of sandbox instances.',
          ...sizes.standard,
        }),
        routes: instanceRoutes,
      },
      {
        handler: makeFunction('Keys', 'keys', { description: 'Manages API keys.', ...sizes.standard }),
        routes: keyRoutes,
      },
      {
        handler: makeFunction('Memory', 'memory', {
          description: 'Turns, artifacts and tasks of project memory.',
          ...sizes.checkpoints,
          environment: {
            [ENVIRONMENT.memoryRetention]: retention('memoryRetention', props, MEMORY_RETENTION_SECONDS),
          },
        }),
        routes: memoryRoutes,
      },
      {
        handler: makeFunction('Openapi', 'openapi', { description: 'The description of the API.', ...sizes.small }),
        routes: openapiRoutes,
      },
      {
        handler: makeFunction('ProjectMd', 'project-md', {
          description: 'The memory of a project as one document.',
          ...sizes.document,
        }),
        routes: projectMdRoutes,
        streams: true,
      },
      {
        handler: makeFunction('Sandboxes', 'sandboxes', {
          description: 'Sandboxes and the snapshots of their workspaces.',
          ...sizes.checkpoints,
          environment: { ...sandboxRetention, [ENVIRONMENT.bundlesFunction]: bundles.functionName },
          statements: [invocation(bundles.functionArn)],
        }),
        routes: sandboxRoutes,
      },
    ]
    const { throttling = STANDARD_THROTTLING } = props
    const slots = throttleSlots(this, throttling)
    this.api = new SandkeepApi(this, 'Api', {
      corsOrigins,
      authorizer: makeFunction('Authorizer', 'authorizer', {
        description: 'Checks API keys and tokens.',
        ...sizes.authorizer,
        environment: { ...oidcEnvironment(props.oidc), ...slotsToEnvironment(slots) },
      }),
      services,
      slots,
      throttling,
      logRetention,
      cloudWatchRole: props.cloudWatchRole ?? true,
      tracing,
      domain: props.domain,
    })
    const answering = services.filter(({ streams }) => !streams).map(({ handler }) => handler)
    const watched = { restApi: this.api.restApi, table, sweep, answering, functions }
    const { alarmTopic } = props
    const alarms = new Alarms(this, 'Alarms', {
      ...watched,
      sweepRate,
      ...(alarmTopic && { action: new SnsAction(alarmTopic) }),
    })
    new SandkeepDashboard(this, 'Dashboard', { ...watched, alarms: alarms.all })
  }
}

/** Why functions have rights on many objects. */
function objectGrants(bucket: SandkeepBucket): Record<string, string> {
  const bucketId = Stack.of(bucket).resolve((bucket.node.defaultChild as CfnBucket).logicalId)
  const reason = 'Objects are granted by the prefixes of the services that own them: their names are not known before.'
  const rules = Object.values(OBJECT_PREFIXES).map(
    (prefix) => `AwsSolutions-IAM5[Resource::<${bucketId}.Arn>/${prefix}*]`,
  )
  return Object.fromEntries(rules.map((rule) => [rule, reason]))
}

type FunctionProps = Pick<
  ServiceFunctionProps,
  'description' | 'memorySize' | 'timeout' | 'nodeOptions' | 'environment' | 'retryAttempts'
> & {
  /** What it may do besides its work on the table and the bucket. */
  readonly statements?: PolicyStatement[]
}
