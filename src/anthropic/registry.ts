import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { upstreamFailed } from '../files/anthropic-errors.ts'
import { fileIdPattern } from '../files/items.ts'
import { createFileRegistry, type RegisteredFile, registeredFiles } from '../files/registry.ts'
import type { FileScope } from '../files/types.ts'
import { fileKey } from '../table/keys.ts'
import { type Item, Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import { parseScope, type Scope } from '../tenancy/scope.ts'
import {
  addContainer,
  type ContainerPage,
  type ContainerRecord,
  type ContainersContext,
  containerKeyOf,
  listContainers,
  readContainer,
  touchContainer,
} from './containers.ts'

export interface RegistryConfig {
  dynamodb: DynamoDBClient
  tableName: string
  scope: Scope
  /** The owner's text of the user. */
  user: string
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
}

/** What is known of the ids in a request. */
export interface KnownIds {
  container: ContainerRecord | undefined
  files: Map<string, RegisteredFile>
}

/** Which containers and files of Anthropic's belong to a user of an app, and to the app. */
export interface Registry {
  /** One read for up to 100 ids of both kinds. The container must be of the scope. */
  lookUp(ids: { containerId: string | undefined; fileIds: ReadonlySet<string>; scope: FileScope }): Promise<KnownIds>
  /** One write. @throws Error when it is another's */
  addContainer(id: string, scope: FileScope): Promise<void>
  /** One write. @throws Error when it is another's */
  addFile(id: string, scope: FileScope): Promise<void>
  /** At most one write a minute. */
  touch(container: ContainerRecord): Promise<void>
  /** 1 to 100 containers, by default 20. @throws InvalidInputError */
  list(options: { limit?: number | undefined; page?: string | undefined }): Promise<ContainerPage>
}

const BATCH = 100

export function createRegistry({ now = Date.now, ...config }: RegistryConfig): Registry {
  const { dynamodb, tableName, user } = config
  const scope = parseScope(config.scope.tenant, config.scope.project)
  const table = new Table(dynamodb, tableName)
  const files = createFileRegistry({ dynamodb, tableName, scope, user, now })
  const context: ContainersContext = { table, scope, user, now }

  const lookUp: Registry['lookUp'] = async ({ containerId, fileIds, scope: inScope }) => {
    const ofContainer = containerId === undefined ? undefined : containerKeyOf(context, inScope, containerId)
    const ofFiles = [...fileIds].filter((id) => fileIdPattern.test(id)).map((id) => fileKey(scope, id))
    const keys = [...(ofContainer ? [ofContainer] : []), ...ofFiles]
    const items: Item[] = []
    for (let start = 0; start < keys.length; start += BATCH) {
      items.push(...(await retryTransient(() => table.batchGet(keys.slice(start, start + BATCH)))))
    }
    const container = items.find(({ pk, sk }) => pk === ofContainer?.pk && sk === ofContainer?.sk)
    return {
      container: container && readContainer(container, now()),
      files: registeredFiles(
        items.filter((item) => item !== container),
        user,
        now(),
      ),
    }
  }
  return {
    lookUp,
    async addContainer(id, inScope) {
      if (!(await addContainer(context, inScope, id))) throw anothers()
    },
    async addFile(id, inScope) {
      if (await files.register(id, inScope)) return
      // Another request of the same user may have been first.
      if ((await files.lookUp([id])).get(id)?.scope !== inScope) throw anothers()
    },
    touch: (container) => touchContainer(context, container),
    list: (options) => listContainers(context, options),
  }
}

/** Whatever the provider answers, nobody comes into what is another's. */
function anothers(): Error {
  return upstreamFailed(new Error('The provider answered with an id that belongs to somebody else.'))
}
