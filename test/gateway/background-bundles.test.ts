import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { BackgroundBundles } from '../../local/background-bundles.ts'
import { createSandboxStore } from '../../src/sandboxes/store.ts'
import { freshWorkspace, range } from '../bundles/support/workspace.ts'
import { injectFaults } from '../store/support/faults.ts'
import { type Engines, startEngines } from '../support/engines.ts'

let engines: Engines
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

async function setUp() {
  const { scope, bundles, files } = freshWorkspace(engines)
  const stored = await files(range(0, 40))
  const sandboxes = createSandboxStore({ ...engines, scope })
  const { sandbox } = await sandboxes.create({ profile: 'p', taskId: 't', by: 'user:me' })
  const name = await sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'stop', files: stored })
  const onError = vi.fn<(error: unknown) => void>()
  const background = new BackgroundBundles({ config: engines, timeoutMs: 900_000, onError })
  const plan = () => bundles.downloads({ workspaceKey: 't' }, { files: stored, artifacts: [] })
  return { scope, sandboxes, name, stored, onError, background, plan }
}

test('bundles are built behind the calls that ask for them, and stop waits', async () => {
  const { scope, sandboxes, name, stored, onError, background, plan } = await setUp()
  await background.request({ scope, ...name })
  expect((await plan()).bundles).toEqual([])
  const next = await sandboxes.saveSnapshot(name.sandboxId, { reason: 'stop', files: stored.slice(1) })
  await background.request({ scope, ...next })
  // The first is stopped on its way, or done; the second never begins.
  await background.stop()
  expect(onError).not.toHaveBeenCalled()
})

test('a build comes to its end', async () => {
  const { scope, name, background, plan } = await setUp()
  await background.request({ scope, ...name })
  await vi.waitFor(async () => expect((await plan()).bundles).toHaveLength(1), { timeout: 10_000 })
  await background.stop()
})

test('what fails in it is told', async () => {
  const { scope, name, onError, background } = await setUp()
  using _faults = injectFaults(engines.s3, 'PutObject', [async () => Promise.reject(new Error('injected'))])
  await background.request({ scope, ...name })
  await vi.waitFor(() => expect(onError).toHaveBeenCalledExactlyOnceWith(new Error('injected')), { timeout: 10_000 })
  await background.stop()
})

test('none begins after stop', async () => {
  const { scope, name, background, plan } = await setUp()
  await background.stop()
  await background.request({ scope, ...name })
  await background.stop()
  expect(await plan()).toMatchObject({ bundles: [], wantsBundles: true })
})
