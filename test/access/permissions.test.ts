import { expect, test } from 'vitest'
import { routeOf } from '../../lambdas/all-routes.ts'
import { readApi } from '../../local/gateway/read-api.ts'
import { synthesizeTemplate } from '../../local/template.ts'

const methods = readApi(synthesizeTemplate()).resources.flatMap(({ path, methods: ofPath }) =>
  [...ofPath].filter(([, { authorizer }]) => authorizer !== undefined).map(([method]) => [method, path] as const),
)

test.for(methods)('the provider can be asked about %s %s', ([method, path]) => {
  expect(routeOf(method, path)?.permission).toMatch(/^sandbox(-[a-z]+)*#(read|write|delete)$/)
})

test('what is no route has no permission', () => {
  expect(routeOf('GET', '/nowhere')).toBeUndefined()
  expect(routeOf('PATCH', '/sandbox/keys/v1')).toBeUndefined()
})
