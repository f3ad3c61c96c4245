import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi'
import { DESCRIBED_ROUTES, TAGS } from '../../lambdas/openapi/all-operations.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { components } from './components.ts'
import { operationObject } from './operation-object.ts'

const DESCRIPTION = `Keeps what an AI agent's sandbox would lose: checkpoints of workspaces, project memory and files.

Every request shows an API key, a token, or both, and names a tenant and a project. Every answer has the header
\`x-request-id\`. A path that is not here is answered 404, and another method of one that is 405.`

/** The description of the whole API, in OpenAPI 3.1. The same each time. */
export function createDescription(): ReturnType<typeof createDocument> {
  const paths: ZodOpenApiPathsObject = {}
  for (const described of DESCRIBED_ROUTES) {
    const { method, path } = described.route
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationObject(described) }
  }
  return createDocument({
    openapi: '3.1.1',
    info: {
      title: 'Sandkeep',
      version: packageJson.version,
      description: DESCRIPTION,
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: '.', description: 'Where this description is served.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ apiKey: [] }, { token: [] }, { apiKey: [], token: [] }],
    paths,
    components: components(),
  })
}
