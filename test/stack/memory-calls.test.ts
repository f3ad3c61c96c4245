import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { type LocalGateway, startGateway } from '../../local/gateway/index.ts'
import { createHandlers, createStreamHandlers } from '../../local/handlers.ts'
import { synthesizeTemplate } from '../../local/template.ts'
import { projectMd } from '../../src/memory/project-md.ts'
import { createMemoryContext } from '../../src/memory/store.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { CallRecorder, granted } from './recorder.ts'
import { synth } from './synth.ts'

let stack: LocalStack
let gateway: LocalGateway
let recorder: CallRecorder
let client: SandkeepClient

beforeAll(async () => {
  stack = await startLocalStack()
  recorder = new CallRecorder(stack)
  const others = recorder.configOf('others')
  const { memory } = createHandlers(recorder.configOf('memory'))
  const streamed = createStreamHandlers(recorder.configOf('project-md'))['project-md']
  gateway = await startGateway({
    template: synthesizeTemplate(),
    handlers: { ...createHandlers(others), ...(memory && { memory }) },
    streamHandlers: { ...createStreamHandlers(others), ...(streamed && { 'project-md': streamed }) },
  })
  const { apiKey } = stack
  client = createClient({
    url: gateway.url,
    apiKey,
    tenant: 'acme',
    project: 'demo',
    fetch: recorder.fetchFor('memory'),
  })
})

afterAll(async () => {
  await gateway.stop()
  recorder.stop()
  await stack.stop()
})

const ID = { taskId: 't', turn: 1 }

test('the function of the memory is granted the calls that it makes, and no others', async () => {
  const { memory } = client
  await memory.putTurn({ ...ID, summaryMd: 'x'.repeat(100_000) })
  await memory.putTurn({ ...ID, turn: 2, summaryMd: 'x' })
  await memory.putTurn({ ...ID, turn: 2 })
  await memory.getTurn(ID)
  await memory.putArtifact({ ...ID, name: 'small', content: randomBytes(10) })
  await memory.putArtifact({ ...ID, name: 'large', content: randomBytes(4_200_000) })
  await memory.getArtifact({ ...ID, name: 'small' })
  const large = await memory.getArtifact({ ...ID, name: 'large' })
  await large?.arrayBuffer()
  await memory.listTasksPage()
  await memory.getTask('t')
  await answerOverTheLimit()
  await memory.deleteTask('t')
  expect(recorder.made('memory')).toEqual(granted(synth(), 'memory'))
})

test('the function of the document is granted the calls that it makes, and no others', async () => {
  await client.memory.putTurn({ ...ID, summaryMd: 'x' })
  expect(await client.memory.projectMd()).toContain('## t\n')
  // As it is read when there are more summaries than may be held.
  const scope = { tenant: 'acme', project: 'demo' }
  await Array.fromAsync(projectMd(createMemoryContext({ ...recorder.configOf('project-md'), scope }), 0))
  expect(recorder.made('project-md')).toEqual(granted(synth(), 'project-md'))
})

/** A turn whose JSON goes by way of the storage: its summary and its artifacts together. */
async function answerOverTheLimit(): Promise<void> {
  const summaryMd = '\u0001'.repeat(690_000)
  await client.memory.putTurn({ ...ID, summaryMd })
  for (let index = 0; index < 150; index++) {
    const contentType = `text/plain; filler="${'x'.repeat(230)}"`
    await client.memory.putArtifact({ ...ID, name: String(index), content: new Uint8Array(1), contentType })
  }
  expect((await client.memory.getTurn(ID))?.summaryMd === summaryMd).toBe(true)
}
