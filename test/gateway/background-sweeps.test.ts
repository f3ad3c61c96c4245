import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { BackgroundSweeps } from '../../local/background-sweeps.ts'
import { listReports } from '../../src/sweep/report.ts'
import { Table } from '../../src/table/table.ts'
import { injectFaults } from '../store/support/faults.ts'
import { type Engines, startEngines } from '../support/engines.ts'

let engines: Engines
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

function setUp() {
  const scope = engines.freshScope()
  const onError = vi.fn<(error: unknown) => void>()
  const sweeps = new BackgroundSweeps({ config: engines, timeoutMs: 900_000, onError })
  const one = { scope, id: 'sweep', olderThanMs: 0, dryRun: false, waitMs: 0 }
  const reports = () => listReports(new Table(engines.dynamodb, engines.tableName), scope, 10, Date.now())
  return { sweeps, onError, one, reports }
}

test('a sweep runs behind the call that starts it, and stop waits for it', async () => {
  const { sweeps, onError, one, reports } = setUp()
  await sweeps.start({ one })
  expect(await reports()).not.toMatchObject([{ state: 'done' }])
  await sweeps.stop()
  expect(await reports()).toMatchObject([{ state: 'done' }])
  expect(onError).not.toHaveBeenCalled()
})

test('what fails in it is told', async () => {
  const { sweeps, onError, one } = setUp()
  using _faults = injectFaults(engines.s3, 'ListObjectVersions', [async () => Promise.reject(new Error('injected'))])
  await sweeps.start({ one })
  await sweeps.stop()
  expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: 'injected' }))
})

test('none begins after stop', async () => {
  const { sweeps, one, reports } = setUp()
  await sweeps.stop()
  await sweeps.start({ one })
  expect(await reports()).toStrictEqual([])
})
