import type { APIGatewayProxyEvent, APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { type ClientOptions, createClient, type SandkeepClient } from '../../../client/index.ts'
import { createHandler as createAnthropic } from '../../../lambdas/anthropic/handler.ts'
import { ROUTES as ANTHROPIC_ROUTES } from '../../../lambdas/anthropic/routes.ts'
import { createHandler as createAuthorizer } from '../../../lambdas/authorizer/handler.ts'
import { createHandler as createBundles } from '../../../lambdas/bundles/handler.ts'
import { createHandler as createCheckpoints } from '../../../lambdas/checkpoints/handler.ts'
import { ROUTES as CHECKPOINT_ROUTES } from '../../../lambdas/checkpoints/routes.ts'
import { createHandler as createFileContent } from '../../../lambdas/file-content/handler.ts'
import { ROUTES as FILE_CONTENT_ROUTES } from '../../../lambdas/file-content/routes.ts'
import { createHandler as createFiles } from '../../../lambdas/files/handler.ts'
import { ROUTES as FILE_ROUTES } from '../../../lambdas/files/routes.ts'
import { createHandler as createInstances } from '../../../lambdas/instances/handler.ts'
import { ROUTES as INSTANCE_ROUTES } from '../../../lambdas/instances/routes.ts'
import { createHandler as createKeys } from '../../../lambdas/keys/handler.ts'
import { ROUTES as KEY_ROUTES } from '../../../lambdas/keys/routes.ts'
import type { MemoryHandlerConfig } from '../../../lambdas/memory/config.ts'
import { createHandler as createMemory } from '../../../lambdas/memory/handler.ts'
import { ROUTES as MEMORY_ROUTES } from '../../../lambdas/memory/routes.ts'
import { createHandler as createProjectMd } from '../../../lambdas/project-md/handler.ts'
import { ROUTES as PROJECT_MD_ROUTES } from '../../../lambdas/project-md/routes.ts'
import type { SandboxHandlerConfig } from '../../../lambdas/sandboxes/config.ts'
import { createHandler as createSandboxes } from '../../../lambdas/sandboxes/handler.ts'
import { ROUTES as SANDBOX_ROUTES } from '../../../lambdas/sandboxes/routes.ts'
import type { BundlesRequester } from '../../../lambdas/shared/bundles-config.ts'
import type { FilesHandlerConfig } from '../../../lambdas/shared/files-config.ts'
import type { Route } from '../../../lambdas/shared/routes.ts'
import type { SweepHandlerConfig } from '../../../lambdas/shared/sweep-config.ts'
import { createHandler as createSweep } from '../../../lambdas/sweep/handler.ts'
import type { SweepTelemetry } from '../../../lambdas/sweep/telemetry.ts'
import type { SandboxCheckpointStoreOptions } from '../../../src/checkpoints/types.ts'
import { createKeyStore } from '../../../src/keys/store.ts'
import type { KeyBinding, Role } from '../../../src/keys/types.ts'
import { AnswerChecker } from '../../support/answer-check.ts'
import { type Engines, startEngines } from '../../support/engines.ts'
import { type Answer, streamed, whole } from './answers.ts'
import { proxyEvent } from './events.ts'

const silent: SweepTelemetry = { finished: () => undefined, failed: () => undefined }
const URL_OF_API = 'http://api.test'
const METHOD_ARN = 'arn:aws:execute-api:us-east-1:000000000000:api/stage/POST/x'

type TestOptions = SandboxCheckpointStoreOptions &
  Pick<MemoryHandlerConfig, 'memoryRetentionSec'> &
  Pick<SandboxHandlerConfig, 'sandboxRetentionSec'> &
  Partial<BundlesRequester> &
  Pick<FilesHandlerConfig, 'anthropic' | 'corsOrigins' | 'filesBackend'>

/** The functions of the API on real engines, behind a `fetch` that makes gateway events of requests. */
export interface TestApi {
  readonly engines: Engines
  readonly url: string
  readonly fetch: typeof globalThis.fetch
  /** Each request to the API so far, as `METHOD path`. */
  readonly requests: string[]
  createKey(role: Role, bindings?: KeyBinding[]): Promise<string>
  /** A client of a scope that nothing has used yet, with a platform key unless told otherwise. */
  client(options?: Partial<ClientOptions>): SandkeepClient
  /** As another instance of the same functions, with options of its own. */
  withOptions(options: TestOptions): Pick<TestApi, 'client' | 'fetch'>
  /** @throws Error when an answer was not as the description of the API has it */
  stop(): Promise<void>
}

export async function startTestApi(): Promise<TestApi> {
  const engines = await startEngines()
  const keys = createKeyStore(engines)
  const requests: string[] = []
  const checker = new AnswerChecker()
  const createKey = async (role: Role, bindings: KeyBinding[] = [{ tenant: '*', project: '*' }]) => {
    const { key } = await keys.create({ name: role, role, bindings })
    return key
  }
  const apiKey = await createKey('platform')
  const withOptions = (storeOptions: TestOptions) => {
    const fetch = checkedFetch(gatewayFetch(engines, storeOptions, requests), checker)
    return {
      fetch,
      client: (options: Partial<ClientOptions> = {}) =>
        createClient({ url: URL_OF_API, apiKey, ...engines.freshScope(), fetch, ...options }),
    }
  }
  const stop = async () => {
    await engines.stop()
    checker.verify()
  }
  return { engines, url: URL_OF_API, requests, createKey, withOptions, ...withOptions({}), stop }
}

/** Holds the answers of the API to the description of it. */
function checkedFetch(fetch: typeof globalThis.fetch, checker: AnswerChecker): typeof globalThis.fetch {
  return async (input, init) => {
    const given = input instanceof Request ? input : { url: String(input), method: 'GET' }
    const response = await fetch(input, init)
    const { origin, pathname } = new URL(given.url)
    if (origin === URL_OF_API) await checker.checkResponse(init?.method ?? given.method, pathname, response)
    return response
  }
}

function gatewayFetch(engines: Engines, options: TestOptions, requests: string[]): typeof globalThis.fetch {
  const config: SweepHandlerConfig & BundlesRequester = {
    ...engines,
    // Over before the request that asked for it is answered.
    startSweep: (event) => createSweep(config, silent)(event, { getRemainingTimeInMillis: () => 900_000 }),
    requestBundles: (event) => createBundles(config)(event, { getRemainingTimeInMillis: () => 900_000 }),
    ...options,
  }
  const authorizer = createAuthorizer(config)
  const services: Service[] = [
    [streamed(createAnthropic(config)), ANTHROPIC_ROUTES],
    [whole(createCheckpoints(config)), CHECKPOINT_ROUTES],
    [whole(createFiles(config)), FILE_ROUTES],
    [streamed(createFileContent(config)), FILE_CONTENT_ROUTES],
    [whole(createInstances(config)), INSTANCE_ROUTES],
    [whole(createKeys(config)), KEY_ROUTES],
    [whole(createMemory(config)), MEMORY_ROUTES],
    [streamed(createProjectMd(config)), PROJECT_MD_ROUTES],
    [whole(createSandboxes(config)), SANDBOX_ROUTES],
  ]
  return async (input, init) => {
    const request = new Request(input, init)
    const { origin, pathname, searchParams } = new URL(request.url)
    // Presigned requests go to the storage.
    if (origin !== URL_OF_API) return fetch(input, init)
    requests.push(`${request.method} ${pathname}`)
    const { answer, resource, pathParameters } = findService(services, pathname) ?? {}
    if (!answer || resource === undefined)
      return Response.json({ error: { code: 'not_found', message: 'no route' } }, { status: 404 })
    const body = new Uint8Array(await request.arrayBuffer())
    const event = {
      ...proxyEvent({
        method: request.method,
        path: pathname,
        resource,
        ...(pathParameters && { pathParameters }),
        query: Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)])),
        body: body.length === 0 ? null : body,
      }),
      headers: Object.fromEntries(request.headers),
      multiValueHeaders: Object.fromEntries([...request.headers].map(([name, value]) => [name, [value]])),
    }
    try {
      const { context } = await authorizer({
        ...event,
        methodArn: METHOD_ARN,
      } as unknown as APIGatewayRequestAuthorizerEvent)
      event.requestContext = { ...event.requestContext, authorizer: context } as APIGatewayProxyEvent['requestContext']
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'Unauthorized') throw error
      return Response.json({ error: { code: 'unauthenticated', message: 'no key' } }, { status: 401 })
    }
    return answer(event, request.signal)
  }
}

type Service = [answer: Answer, routes: readonly Route[]]

/** The service that has a route of the path, the route's own path, and the parameters in it as they were sent. */
function findService(services: readonly Service[], pathname: string) {
  for (const [answer, routes] of services) {
    // As in the gateway: a path without parameters goes before one with them.
    for (const { path } of routes.toSorted(
      (left, right) => left.path.split('{').length - right.path.split('{').length,
    )) {
      const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
      const match = pattern.exec(pathname)
      if (match) return { answer, resource: path, pathParameters: match.groups && { ...match.groups } }
    }
  }
  return undefined
}
