import { ROUTES as anthropicRoutes } from './anthropic/routes.ts'
import { ROUTES as checkpointRoutes } from './checkpoints/routes.ts'
import { ROUTES as fileContentRoutes } from './file-content/routes.ts'
import { ROUTES as fileRoutes } from './files/routes.ts'
import { ROUTES as instanceRoutes } from './instances/routes.ts'
import { ROUTES as keyRoutes } from './keys/routes.ts'
import { ROUTES as memoryRoutes } from './memory/routes.ts'
import { ROUTES as projectMdRoutes } from './project-md/routes.ts'
import { ROUTES as sandboxRoutes } from './sandboxes/routes.ts'
import type { Permission, Route } from './shared/routes.ts'

/** The routes of all services. */
const ROUTES: readonly Route[] = [
  ...anthropicRoutes,
  ...checkpointRoutes,
  ...fileRoutes,
  ...fileContentRoutes,
  ...instanceRoutes,
  ...keyRoutes,
  ...memoryRoutes,
  ...projectMdRoutes,
  ...sandboxRoutes,
]

const permissions = new Map(ROUTES.map(({ method, path, permission }) => [`${method} ${path}`, permission]))

/** The permission that a method of a resource of the gateway needs, or undefined where no service has such a route. */
export function permissionOf(method: string, resource: string): Permission | undefined {
  return permissions.get(`${method} ${resource}`)
}
