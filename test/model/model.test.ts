import { describe, expect, it } from 'vitest'
import { createMemoryCheckpointStore } from '../../testkit/index.ts'
import { forkFaults } from '../testkit/faults/fork-faults.ts'
import { leaseFaults } from '../testkit/faults/lease-faults.ts'
import { pruneFaults } from '../testkit/faults/prune-faults.ts'
import { readFaults } from '../testkit/faults/read-faults.ts'
import { storeFaults } from '../testkit/faults/store-faults.ts'
import { anyThreadFaults, missingCheckFaults, swapFaults } from '../testkit/faults/write-faults.ts'
import { checkpointStoreMatchesModel } from './model.ts'

const seed = 20_260_102

// Of each kind of fault, those that random sequences meet soon. The conformance suite finds the others.
const faults = [
  ...leaseFaults,
  ...readFaults,
  ...storeFaults,
  ...missingCheckFaults,
  ...swapFaults,
  ...anyThreadFaults,
  ...forkFaults,
  ...pruneFaults,
].filter(({ name }) =>
  [
    'a lease is still current at exactly expiresAt',
    'at exactly expiresAt no other lease is given',
    'fences start again after a release',
    'renew changes the fence',
    'artifact keys are not counted',
    'a deleted head is still counted',
    'the list is by id alone',
    'an id may be used once in each thread',
    'a deleted id stays used',
    'a repeated append is a duplicate',
    'append does not check parent',
    'append checks parent before head',
    'deleteHead checks head before writer',
    'fork does not check destination',
    'a fork copies the label',
    'keep does not count the head',
    'deleted is newest first',
    'the head moves to a parent that was pruned',
    'pruned checkpoints are still counted',
  ].includes(name),
)

describe('the comparison with the model', () => {
  it('passes a second store in memory', async () => {
    await checkpointStoreMatchesModel(createMemoryCheckpointStore, { runs: 200, seed })
  })

  it('tells the seed when the stores differ', async () => {
    const never = checkpointStoreMatchesModel((options) => ({ ...createMemoryCheckpointStore(options) }), {
      runs: 1,
      seed,
    })
    await expect(never).rejects.toThrow(`seed: ${seed}`)
  })

  it.each(faults)('finds: $name', async ({ make }) => {
    await expect(checkpointStoreMatchesModel((options = {}) => make(options), { runs: 300, seed })).rejects.toThrow()
  })

  it('knows all of those faults', () => {
    expect(faults).toHaveLength(19)
  })
})
