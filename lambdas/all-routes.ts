import { ROUTES as anthropicRoutes } from './anthropic/routes.ts'
import { ROUTES as checkpointRoutes } from './checkpoints/routes.ts'
import { ROUTES as fileContentRoutes } from './file-content/routes.ts'
import { ROUTES as fileRoutes } from './files/routes.ts'
import { ROUTES as instanceRoutes } from './instances/routes.ts'
import { ROUTES as keyRoutes } from './keys/routes.ts'
import { ROUTES as memoryRoutes } from './memory/routes.ts'
import { ROUTES as projectMdRoutes } from './project-md/routes.ts'
import { ROUTES as sandboxRoutes } from './sandboxes/routes.ts'
import type { Route } from './shared/routes.ts'

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

const byMethodAndPath = new Map(ROUTES.map((route) => [`${route.method} ${route.path}`, route]))

/** The route of a method of a resource of the gateway, or undefined where no service has one. */
export function routeOf(method: string, resource: string): Route | undefined {
  return byMethodAndPath.get(`${method} ${resource}`)
}
