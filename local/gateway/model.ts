import type { HeaderSource } from './constant-mapping.ts'

/** What a REST API is made of, as read from its template. */
export interface ApiModel {
  resources: ResourceModel[]
  gatewayResponses: ReadonlyMap<string, GatewayResponseModel>
  throttling: ThrottlingModel
  /** How long a streamed answer may pause, in milliseconds. */
  streamIdleMs: number
}

/** How many requests are taken a second, and how many at once. */
export interface LimitModel {
  rateLimit: number
  burstLimit: number
}

export interface ThrottlingModel {
  /** Of all together. */
  stage?: LimitModel
  /** The API keys of the usage plan, by their values. */
  keys: ReadonlyMap<string, KeyModel>
}

export interface KeyModel {
  id: string
  limit: LimitModel
}

export interface ResourceModel {
  id: string
  /** With parameters as in `/tasks/{task_id}`. */
  path: string
  /** By HTTP method, or `ANY`. */
  methods: ReadonlyMap<string, MethodModel>
}

export interface MethodModel {
  /** None: anyone may call it. */
  authorizer?: FunctionModel
  /** Whether the authorizer has to name a key that the requests are counted by. */
  keyRequired: boolean
  integration: LambdaIntegrationModel | MockIntegrationModel
}

export interface FunctionModel {
  /** The folder of `lambdas/` whose handler it runs. */
  name: string
  memorySizeMb: number
  timeoutMs: number
  /** Of its environment variables those that are given as text. */
  environment: Readonly<Record<string, string>>
}

export interface LambdaIntegrationModel {
  kind: 'lambda'
  function: FunctionModel
  /** Whether the answer is passed on as it comes. */
  streams: boolean
  /** For the whole answer. */
  timeoutMs: number
}

/** A constant answer. */
export interface MockIntegrationModel {
  kind: 'mock'
  /** Requests of other content types are refused. */
  requestTypes: ReadonlySet<string>
  status: number
  headers: Record<string, HeaderSource>
  contentType: string
  body: string
}

/** How the gateway words one kind of its own refusals. */
export interface GatewayResponseModel {
  /** None: the status that the gateway chose stands. */
  status?: number
  headers: Record<string, HeaderSource>
  contentType: string
  body: string
}
