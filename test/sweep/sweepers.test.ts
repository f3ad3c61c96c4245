import { createHash } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { Turns, watchedClients } from './support/actors.ts'
import { checkpointOf, keyOf, type ScopeUnderSweep, scopeUnderSweep } from './support/scope-under-sweep.ts'

const engines = await startEngines()
afterAll(engines.stop)

const TIMEOUT_MS = 240_000

/** A blob that a page names and a thread uses, a grace that is over, and another that is unused. */
async function contested() {
  const scope = scopeUnderSweep(engines)
  const key = await scope.put('contested')
  const unused = await scope.put('unused')
  const writer = await scope.checkpoints.acquireWriter('first')
  await scope.sweep()
  await scope.checkpoints.append({ checkpoint: checkpointOf('first', 'one', [key]), expectedHeadId: null, writer })
  await writer.release()
  return { scope, key, unused }
}

/** Takes the blob out of use in one thread, and into use in another. */
async function moveUse(stores: ReturnType<ScopeUnderSweep['stores']>): Promise<void> {
  const { checkpoints, blobs } = stores
  const first = await checkpoints.acquireWriter('first')
  await checkpoints.deleteHead({ threadId: 'first', checkpointId: 'one', writer: first })
  await first.release()
  const second = await checkpoints.acquireWriter('second')
  const key = keyOf('contested')
  if (!(await blobs.head(key))) await blobs.put(key, Buffer.from('contested'))
  await checkpoints.append({ checkpoint: checkpointOf('second', 'two', [key]), expectedHeadId: null, writer: second })
  await second.release()
}

async function expectKept(scope: ScopeUnderSweep, key: string): Promise<void> {
  const body = await scope.blobs.get(key)
  expect(
    body &&
      `${createHash('sha256')
        .update(Buffer.from(await body.arrayBuffer()))
        .digest('hex')}`,
  ).toBe(key.slice(-64))
}

async function expectClean(scope: ScopeUnderSweep, key: string): Promise<void> {
  for (let sweeps = 0; sweeps < 2; sweeps++) await scope.sweep()
  await expectKept(scope, key)
  expect(await scope.versions('blobs')).toHaveLength(1)
  // A note stays for the next run to remove.
  expect((await scope.state()).filter((name) => !name.startsWith('note#'))).toEqual([])
}

describe('sweepers of one scope at a time', () => {
  it('do no harm when one is held up at any of its requests, while the other sweeps and a blob changes hands', {
    timeout: TIMEOUT_MS,
  }, async () => {
    let heldUp = 0
    for (let n = 1; ; n++) {
      const { scope, key } = await contested()
      let sent = 0
      const clients = watchedClients(engines, async (send) => {
        sent += 1
        if (sent === n) {
          heldUp += 1
          await scope.sweep()
          await moveUse(scope.stores())
          await scope.sweep()
        }
        return send()
      })
      await scope.sweep({}, clients)
      await expectKept(scope, key)
      await expectClean(scope, key)
      if (sent < n) break
    }
    expect(heldUp).toBeGreaterThan(30)
  })

  for (const sweepers of [2, 3]) {
    it(`do no harm, ${sweepers} of them and a writer in random turns`, { timeout: TIMEOUT_MS }, async () => {
      for (let seed = 1; seed <= 12; seed++) {
        const { scope, key } = await contested()
        const turns = new Turns(seededRandom(seed))
        const sweeping = Array.from({ length: sweepers }, (_, actor) => scope.sweep({}, turns.clients(engines, actor)))
        const moving = moveUse(scope.stores(turns.clients(engines, sweepers)))
        await turns.run([...sweeping, moving])
        await expectKept(scope, key)
        await expectClean(scope, key)
      }
    })
  }
})
