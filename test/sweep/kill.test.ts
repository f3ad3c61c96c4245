import { PutObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, describe, expect, it } from 'vitest'
import { bodyObjectKey, stagingObjectKey } from '../../src/blobs/object-keys.ts'
import { hashText } from '../../src/text.ts'
import { startEngines } from '../support/engines.ts'
import { Killed, killedAt } from './support/actors.ts'
import { checkpointOf, LEASE_MS, scopeUnderSweep } from './support/scope-under-sweep.ts'

const engines = await startEngines()
afterAll(engines.stop)

/** Something of everything that a sweep has to do: pages of a run before, unused blobs and bodies, leases, stale uploads. */
async function everything() {
  const scope = scopeUnderSweep(engines)
  const spared = await scope.put('spared')
  await scope.put('condemned before')
  const writer = await scope.checkpoints.acquireWriter('spares')
  await scope.sweep()
  await scope.checkpoints.append({ checkpoint: checkpointOf('spares', 'one', [spared]), expectedHeadId: null, writer })
  await writer.release()
  const used = await scope.put('used')
  await scope.commit('uses', [used])
  for (const text of ['unused', 'unused too']) await scope.put(text)
  for (const Key of [
    bodyObjectKey(scope.scope, hashText('uses'), 'orphan'),
    bodyObjectKey(scope.scope, hashText('nobody'), 'orphan'),
    stagingObjectKey(scope.scope, 'stale'),
  ]) {
    await engines.s3.send(new PutObjectCommand({ Bucket: engines.bucketName, Key, Body: Buffer.from('x') }))
  }
  await scope.checkpoints.acquireWriter('expired')
  scope.advance(24 * 3_600_000 + LEASE_MS)
  return { scope, kept: [spared, used].toSorted() }
}

describe.each([
  { late: false, when: 'before it is sent' },
  { late: true, when: 'after it had its effect' },
])('a sweep killed $when', ({ late }) => {
  it('at any of its requests leaves what the next one finishes', { timeout: 240_000 }, async () => {
    let kills = 0
    for (let n = 1; ; n++) {
      const { scope, kept } = await everything()
      const { clients, seen } = killedAt(engines, n, late)
      const outcome = await scope.sweep({}, clients).catch((error: unknown) => error)
      expect(await scope.stored()).toEqual(expect.arrayContaining(kept))
      if (seen() < n) {
        expect(outcome).toMatchObject({ failures: [], waiting: false })
        break
      }
      expect(outcome).toBeInstanceOf(Killed)
      kills += 1
      expect(await scope.sweep()).toMatchObject({ failures: [], waiting: false })
      expect(await scope.stored()).toEqual(kept)
      expect(await scope.versions('blobs')).toHaveLength(2)
      expect(await scope.versions('bodies')).toEqual([])
      expect(await scope.versions('staging')).toEqual([])
      // A note may be left, for the next run that finds pages.
      const left = (await scope.state()).filter((name) => !name.startsWith('note#'))
      expect(left).toEqual([])
      expect(await scope.blobs.head(kept[0] ?? '')).not.toBeNull()
    }
    expect(kills).toBeGreaterThan(40)
  })
})
