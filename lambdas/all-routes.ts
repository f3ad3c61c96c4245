import { ROUTES as anthropicRoutes } from './anthropic/routes.ts'
import { ROUTES as checkpointRoutes } from './checkpoints/routes.ts'
import { ROUTES as fileContentRoutes } from './file-content/routes.ts'
import { ROUTES as fileRoutes } from './files/routes.ts'
import { ROUTES as instanceRoutes } from './instances/routes.ts'
import { ROUTES as keyRoutes } from './keys/routes.ts'
import { ROUTES as memoryRoutes } from './memory/routes.ts'
import { ROUTES as openapiRoutes } from './openapi/routes.ts'
import { ROUTES as projectMdRoutes } from './project-md/routes.ts'
import { ROUTES as sandboxRoutes } from './sandboxes/routes.ts'
import type { AnyRoute, Route } from './shared/routes.ts'

/** The routes of each function of the API, by its folder. */
export const ROUTES_BY_SERVICE = {
  anthropic: anthropicRoutes,
  checkpoints: checkpointRoutes,
  'file-content': fileContentRoutes,
  files: fileRoutes,
  instances: instanceRoutes,
  keys: keyRoutes,
  memory: memoryRoutes,
  openapi: openapiRoutes,
  'project-md': projectMdRoutes,
  sandboxes: sandboxRoutes,
} as const satisfies Record<string, readonly AnyRoute[]>

const all: readonly AnyRoute[] = Object.values(ROUTES_BY_SERVICE).flat()
const byMethodAndPath = new Map(
  all.filter((route) => route.role !== undefined).map((route) => [`${route.method} ${route.path}`, route]),
)

/** The route of a method of a resource of the gateway, or undefined where no service has one that needs credentials. */
export function routeOf(method: string, resource: string): Route | undefined {
  return byMethodAndPath.get(`${method} ${resource}`)
}
