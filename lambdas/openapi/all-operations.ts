import { OPERATIONS as anthropic } from '../anthropic/operations.ts'
import { ROUTES as anthropicRoutes } from '../anthropic/routes.ts'
import { OPERATIONS as checkpoints } from '../checkpoints/operations.ts'
import { ROUTES as checkpointRoutes } from '../checkpoints/routes.ts'
import { OPERATIONS as fileContent } from '../file-content/operations.ts'
import { ROUTES as fileContentRoutes } from '../file-content/routes.ts'
import { OPERATIONS as files } from '../files/operations.ts'
import { ROUTES as fileRoutes } from '../files/routes.ts'
import { OPERATIONS as instances } from '../instances/operations.ts'
import { ROUTES as instanceRoutes } from '../instances/routes.ts'
import { OPERATIONS as keys } from '../keys/operations.ts'
import { ROUTES as keyRoutes } from '../keys/routes.ts'
import { OPERATIONS as memory } from '../memory/operations.ts'
import { ROUTES as memoryRoutes } from '../memory/routes.ts'
import { OPERATIONS as projectMd } from '../project-md/operations.ts'
import { ROUTES as projectMdRoutes } from '../project-md/routes.ts'
import { OPERATIONS as sandboxes } from '../sandboxes/operations.ts'
import { ROUTES as sandboxRoutes } from '../sandboxes/routes.ts'
import type { AnyRoute } from '../shared/routes.ts'
import type { Operation } from './operation.ts'
import { OPERATIONS as openapi } from './operations.ts'
import { ROUTES as openapiRoutes } from './routes.ts'

export const TAGS = {
  checkpoints: 'Checkpoints of threads, leases, blobs and sweeps.',
  memory: 'Turns, artifacts and tasks of the project.',
  sandboxes: 'Sandboxes and the snapshots of their workspaces.',
  files: 'Files of users and apps.',
  anthropic: "Anthropic's Messages API, with the containers and files of each user kept apart.",
  instances: "Records of providers' sandboxes.",
  keys: 'API keys.',
  description: 'This description.',
} as const

export interface DescribedRoute {
  route: AnyRoute
  operation: Operation
  tag: keyof typeof TAGS
}

/** All routes of the API, with what they take and answer. */
export const DESCRIBED_ROUTES: readonly DescribedRoute[] = [
  ...described('checkpoints', checkpointRoutes, checkpoints),
  ...described('memory', memoryRoutes, memory),
  ...described('memory', projectMdRoutes, projectMd),
  ...described('sandboxes', sandboxRoutes, sandboxes),
  ...described('files', fileRoutes, files),
  ...described('files', fileContentRoutes, fileContent),
  ...described('anthropic', anthropicRoutes, anthropic),
  ...described('instances', instanceRoutes, instances),
  ...described('keys', keyRoutes, keys),
  ...described('description', openapiRoutes, openapi),
]

function described<Action extends string>(
  tag: keyof typeof TAGS,
  routes: readonly AnyRoute<Action>[],
  operations: Record<Action, Operation>,
): DescribedRoute[] {
  return routes.map((route) => ({ route, operation: operations[route.action], tag }))
}
