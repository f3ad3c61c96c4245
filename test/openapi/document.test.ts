import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, test } from 'vitest'
import { DESCRIBED_ROUTES } from '../../lambdas/openapi/all-operations.ts'
import { ERROR_CODES } from '../../lambdas/openapi/error-codes.ts'
import { createDescription } from '../../scripts/openapi/document.ts'
import { sourceFiles } from './support/source-files.ts'

const root = path.resolve(import.meta.dirname, '../..')
// biome-ignore lint/suspicious/noExplicitAny: the tests look into any part of it.
let document: any

beforeAll(async () => {
  document = JSON.parse(await readFile(path.join(root, 'docs/openapi.json'), 'utf8'))
})

/** Each operation, with where it stands. */
function operations(): { name: string; path: string; operation: (typeof document)['paths'] }[] {
  return Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  )
}

/** Every object in a value, with where it stands. */
function* objectsIn(value: unknown, place = '#'): Generator<[place: string, object: Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return
  yield [place, value as Record<string, unknown>]
  for (const [name, member] of Object.entries(value)) {
    yield* objectsIn(member, `${place}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
}

function resolve(reference: string): unknown {
  const [, ...names] = reference.split('/')
  // biome-ignore lint/suspicious/noExplicitAny: any part of the document.
  return names.reduce((value: any, name) => value?.[name.replaceAll('~1', '/').replaceAll('~0', '~')], document)
}

test('the description is of the schemas as they are: `npm run openapi` writes it anew', () => {
  expect(document).toEqual(JSON.parse(JSON.stringify(createDescription())))
})

test('it is a document of OpenAPI 3.1', async () => {
  const validator = new Validator()
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
  expect(await validator.validate({ ...structuredClone(document), info: {} })).toMatchObject({ valid: false })
})

test('it has the routes of the API and nothing else', async () => {
  const routes = DESCRIBED_ROUTES.map(({ route }) => `${route.method} ${route.path}`)
  expect(
    operations()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(routes.toSorted())
  const files = await sourceFiles(path.join(root, 'lambdas'))
  const services = files.filter((file) => file.endsWith('/routes.ts') && !file.includes('/shared/'))
  const modules = await Promise.all(services.map((file) => import(file)))
  const all = modules.flatMap(({ ROUTES }) =>
    ROUTES.map(({ method, path }: Record<string, string>) => `${method} ${path}`),
  )
  expect(routes.toSorted()).toEqual(all.toSorted())
})

describe('each operation', () => {
  test('has an id of its own, a summary and a tag that is described', () => {
    const ids = operations().map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const tags = document.tags.map(({ name }: { name: string }) => name)
    for (const { name, operation } of operations()) {
      expect(operation.operationId, name).toMatch(/^[a-z][A-Za-z]+$/)
      expect(operation.summary, name).toMatch(/^[A-Z].*[^.]$/)
      expect(tags, name).toContain(operation.tags[0])
    }
  })

  test('has the parameters of its path, and each parameter is described', () => {
    for (const { name, path, operation } of operations()) {
      const parameters = (operation.parameters ?? []).map((parameter: { $ref?: string }) =>
        parameter.$ref === undefined ? parameter : resolve(parameter.$ref),
      )
      const inPath = parameters.filter((parameter: { in: string }) => parameter.in === 'path')
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
      expect(inPath.map((parameter: { name: string }) => parameter.name).toSorted(), name).toEqual(named.toSorted())
      for (const parameter of parameters) expect(parameter.description, `${name} ${parameter.name}`).toBeTruthy()
      const names = parameters.map((parameter: { in: string; name: string }) => `${parameter.in} ${parameter.name}`)
      expect(new Set(names).size, name).toBe(names.length)
    }
  })

  test('names the tenant and the project, unless anybody may call it', () => {
    for (const { name, operation } of operations()) {
      const tenancy = ['Tenant', 'Project'].map((part) => ({ $ref: `#/components/parameters/${part}` }))
      if (name === 'GET /openapi.json') expect(operation.security).toEqual([])
      else expect(operation.parameters, name).toEqual(expect.arrayContaining(tenancy))
    }
  })

  test('has an answer that is no error, and each answer is described and has a request id', () => {
    for (const { name, operation } of operations()) {
      expect(
        Object.keys(operation.responses).some((status) => status.startsWith('2')),
        name,
      ).toBe(true)
      for (const [status, response] of Object.entries<Record<string, string>>(operation.responses)) {
        const whole = response.$ref === undefined ? response : resolve(response.$ref)
        expect(whole, `${name} ${status}`).toMatchObject({
          description: expect.stringMatching(/./),
          headers: { 'x-request-id': {} },
        })
      }
    }
  })
})

test('every reference leads somewhere, and every part is referred to', () => {
  const references = new Set([...objectsIn(document)].flatMap(([, { $ref }]) => (typeof $ref === 'string' ? $ref : [])))
  for (const reference of references) expect(resolve(reference), reference).toBeDefined()
  const parts = (['schemas', 'headers', 'parameters'] as const).flatMap((kind) =>
    Object.keys(document.components[kind]).map((name) => `#/components/${kind}/${name}`),
  )
  expect(parts.filter((part) => !references.has(part))).toEqual([])
})

test('every pattern is one of ECMA-262, and what is required is there', () => {
  for (const [place, { pattern, required, properties }] of objectsIn(document)) {
    if (typeof pattern === 'string') expect(() => new RegExp(pattern, 'u'), place).not.toThrow()
    if (Array.isArray(required)) expect(Object.keys(properties ?? {}), place).toEqual(expect.arrayContaining(required))
  }
})

test('every code of an error in the sources is described', async () => {
  const files = [...(await sourceFiles(path.join(root, 'src'))), ...(await sourceFiles(path.join(root, 'lambdas')))]
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  const thrown =
    /(?:super|new (?:Sandkeep|Conflict|Upstream|PreconditionFailed)Error)\(\s*(?:(?:\d{3}|status),\s*)?'(\w+)'/g
  const codes = new Set(texts.flatMap((text) => [...text.matchAll(thrown)].map(([, code]) => code ?? '')))
  // Thrown to callers in process, and where nobody is there to be told.
  const untold = ['blob_hash_mismatch', 'caller_gone', 'sweep_incomplete']
  expect([...codes].filter((code) => !Object.hasOwn(ERROR_CODES, code) && !untold.includes(code))).toEqual([])
  expect(codes.size).toBeGreaterThan(25)
  expect(document.components.schemas.Error.properties.error.properties.code.enum).toEqual(Object.keys(ERROR_CODES))
})
