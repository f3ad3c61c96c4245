import { expect, test } from 'vitest'
import { type Resource, synth } from './synth.ts'

/** One line a resource: what it is, its logical id, and which of its properties are set. */
function shape(all: Record<string, Resource>): string {
  return Object.entries(all)
    .map(([id, { Type, Properties }]) => `${Type} ${withoutHash(Type, id)} (${Object.keys(Properties ?? {}).sort()})\n`)
    .sort()
    .join('')
}

/** The logical id of a deployment changes with what is deployed. */
function withoutHash(type: string, id: string): string {
  return type === 'AWS::ApiGateway::Deployment' ? id.replace(/[0-9a-f]{32}$/, '') : id
}

/** A change of this file is a change of what a deployment makes: look whether it is meant. `vitest -u` writes it anew. */
test('the stack has the shape that was looked at', async () => {
  await expect(shape(synth().toJSON().Resources)).toMatchFileSnapshot('shape.txt')
})
