import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { file } from '../../lambdas/files/operations.ts'
import { DESCRIBED_ROUTES, type DescribedRoute } from '../../lambdas/openapi/all-operations.ts'
import { errorBody } from '../../lambdas/openapi/schemas.ts'
import { checkpoint } from '../../lambdas/shared/contract-schemas.ts'

const folder = path.resolve(import.meta.dirname, '../../docs')
const names = (await readdir(folder)).filter((name) => name.endsWith('.md'))
const pages = new Map(
  await Promise.all(names.map(async (name) => [name, await readFile(path.join(folder, name), 'utf8')] as const)),
)

/** The route of a request that an example shows. @throws Error when there is none */
function routeOf(method: string, path: string): DescribedRoute {
  const found = DESCRIBED_ROUTES.find(
    ({ route }) => route.method === method && new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  if (!found) throw new Error(`There is no ${method} ${path}.`)
  return found
}

function bodyOf(method: string, path: string): z.ZodObject {
  return routeOf(method, path).operation.body?.['application/json'] as z.ZodObject
}

/** Stands where an example says `<64 hex digits>`. */
const filled = (text: string) => text.replace(/<(64 )?hex( digits)?>/g, 'a'.repeat(64))

/** What each block of JSON in the documentation shows. */
const shown: Record<string, z.ZodType[]> = {
  'api.md': [checkpoint, errorBody],
  'files.md': [file],
  // Context values of the app.
  'operations.md': [z.strictObject({ anthropicSecret: z.string(), filesBackend: z.string(), corsOrigins: z.url() })],
}

test.for(names)('the JSON of %s is as the description says', (name) => {
  const blocks = [...(pages.get(name) ?? '').matchAll(/```json\n([\s\S]*?)```/g)].map(([, block]) => block ?? '')
  expect(blocks).toHaveLength(shown[name]?.length ?? 0)
  for (const [index, block] of blocks.entries()) shown[name]?.[index]?.parse(JSON.parse(filled(block)))
})

/** Commands with a body, and requests that stand in a line of their own. */
const requests = [...pages].flatMap(([name, page]) => [
  ...[...page.matchAll(/curl[^`]*?-X (\w+) "\$SANDBOX_GATEWAY_URL([^"]+)"[^`]*?-d '([^']*)'/g)].map(
    (found) => [name, found] as const,
  ),
  ...[...page.matchAll(/^(POST|PUT) (\/sandbox\/\S+) +(\{.*\})$/gm)].map((found) => [name, found] as const),
])

test('there are examples of requests', () => {
  expect(requests.length).toBeGreaterThan(1)
})

test.for(requests)('a request in %s is as the description says', ([, [, method = '', path = '', body = '']]) => {
  const result = bodyOf(method, path).safeParse(JSON.parse(filled(body)))
  expect(result.error?.issues ?? []).toEqual([])
})

/** The rows of tables of routes: where they are, who may call, and what they take. */
const rows = [
  ...(pages.get('api.md') ?? '').matchAll(/^## .*?`(\/sandbox\/[^`]+)`\n([\s\S]*?)(?=^## |(?![\s\S]))/gm),
].flatMap(([, base = '', section = '']) =>
  [...section.matchAll(/^\| `(?:(GET|POST) )?([^`?]+)[^`]*` \| (\w+) \| (?:`(\{.*?\})`[^|]*)?\|/gm)].map(
    ([, method = 'POST', below = '', role = '', body]) => ({ method, path: join(base, below), role, body }),
  ),
)

/** Sweeps and the usage stand in one table. */
function join(base: string, below: string): string {
  return /\/(sweeps)$/.test(base) ? base.replace(/\/sweeps$/, below) : base + below
}

test('the tables of routes are read', () => {
  expect(rows.length).toBeGreaterThan(15)
})

test.for(rows)('the table says of $method $path who may call it, and what it takes', ({ method, path, role, body }) => {
  expect(routeOf(method, path).route.role).toBe(role)
  if (body === undefined) return
  // What is in a field stands in brackets.
  const fields = [...body.replace(/\[.*?\](?=[,}])/g, '').matchAll(/"(\w+)"(\?)?/g)]
  const { shape } = bodyOf(method, path)
  expect(Object.fromEntries(fields.map(([, name, optional]) => [name, optional === '?']))).toEqual(
    Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, schema.safeParse(undefined).success])),
  )
})
