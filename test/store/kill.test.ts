import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import { afterAll, describe, expect } from 'vitest'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import { sweepScope } from '../../src/sweep/scope-sweep.ts'
import { Table } from '../../src/table/table.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import { LEASE_MS, type Operation, ownKey, type Report, SHARED_KEY, type Start } from './support/kill-protocol.ts'
import { ids, seededRandom } from './support/stores.ts'

const KILLS = 32
/** Each child is a process that loads the code anew, which a busy machine may take long for. */
const TIMEOUT_MS = 240_000
/** Children that are started ahead: loading the code is most of the life of one. */
const AHEAD = 2

const engines = await startEngines()
const children: ChildProcess[] = []
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await engines.stop()
})

function startChild(): ChildProcess {
  const child = fork(join(import.meta.dirname, 'support/kill-writer.ts'), { execArgv: [] })
  children.push(child)
  return child
}

async function endpointOf({ config }: typeof engines.dynamodb | typeof engines.s3): Promise<string> {
  if (!config.endpoint) throw new Error('The client has no endpoint of its own')
  const { protocol, hostname, port } = await config.endpoint()
  return `${protocol}//${hostname}:${port}`
}

type Write = Extract<Report, { kind: 'begin' }>

/** Lets a child write until it stops where it was told, and kills it. @returns its writes; `open` is one not done. */
async function runUntilKilled(child: ChildProcess, start: Start): Promise<{ done: Write[]; open: Write | undefined }> {
  const done: Write[] = []
  let open: Write | undefined
  const stopped = new Promise<void>((resolve, reject) => {
    child.on('message', (message) => {
      const report = message as Report
      if (report.kind === 'begin') open = report
      else if (report.kind === 'stopped') resolve()
      else if (open) {
        done.push(open)
        open = undefined
      }
    })
    if (child.exitCode !== null) reject(new Error('The child ended before it began'))
    child.once('exit', () => reject(new Error('The child ended before it was killed')))
  })
  child.send(start)
  await stopped
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  return { done, open }
}

describe('a writer that is killed at any request', () => {
  check(
    'leaves the state before or after its write to every reader, and the next one goes on',
    async () => {
      const scope = engines.freshScope()
      const random = seededRandom(20)
      const pick = (count: number) => Math.floor(random() * count)
      const chains = new Map<string, string[]>()
      const lists = new Map<string, SandboxCheckpoint[]>()
      const outcomes = new Map<string, number>()
      const ahead = Array.from({ length: AHEAD }, startChild)
      const common = {
        endpoints: { dynamodb: await endpointOf(engines.dynamodb), s3: await endpointOf(engines.s3) },
        region: await engines.s3.config.region(),
        credentials: await engines.s3.config.credentials(),
        tableName: engines.tableName,
        bucketName: engines.bucketName,
        scope,
        threads: ['t-0', 't-1', 't-2'],
      }
      for (let kill = 0; kill < KILLS; kill++) {
        const child = ahead.shift() ?? startChild()
        if (kill + ahead.length + 1 < KILLS) ahead.push(startChild())
        const time = 1_000_000 + kill * LEASE_MS
        const stopWhen = (['before', 'during', 'after'] as const)[pick(3)] ?? 'before'
        const start = { ...common, seed: kill, time, stopAt: 3 + pick(60), stopWhen }
        const { done, open } = await runUntilKilled(child, start)
        for (const { thread, after } of done) chains.set(thread, after)
        const store = createCheckpointStore({ ...engines, scope, now: () => time, leaseDurationMs: LEASE_MS })

        if (open) {
          // A request that was on its way at the kill may still be carried out.
          let seen = ''
          for (let list = ''; list !== seen || list === ''; list = JSON.stringify(await store.list(open.thread)))
            seen = list
          const list = ids(await store.list(open.thread))
          expect([open.before, open.after], `${open.operation} of kill ${kill}`).toContainEqual(list)
          const outcome = `${open.operation} ${list.join() === open.before.join() ? 'before' : 'after'}`
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
          chains.set(open.thread, list)
          for (const id of [...open.before, ...open.after]) {
            expect((await store.get(id))?.threadId ?? null, id).toBe(list.includes(id) ? open.thread : null)
          }
        }
        const written = new Set([...done, ...(open ? [open] : [])].map(({ thread }) => thread))
        await expectState(store, chains, lists, written)
        await sweepScope({
          table: new Table(engines.dynamodb, engines.tableName),
          s3: engines.s3,
          bucketName: engines.bucketName,
          scope,
          now: () => time,
          olderThanMs: 0,
          dryRun: false,
          waitMs: 0,
        })
        await expectState(store, chains, lists, written)
        await expectNothingDead(scope, [...chains.values()].flat().length)
      }
      const killed = (operation: Operation) =>
        (outcomes.get(`${operation} before`) ?? 0) + (outcomes.get(`${operation} after`) ?? 0)
      for (const operation of ['append', 'deleteHead', 'prune', 'fork'] as const) {
        expect(killed(operation), `kills in ${operation}`).toBeGreaterThan(0)
      }
      for (const outcome of ['append before', 'append after', 'prune after'])
        expect(outcomes.get(outcome)).toBeGreaterThan(0)
    },
    { timeout: TIMEOUT_MS },
  )
})

/** Every reader sees the chains of the threads that were written to, and the references are those of all lists. */
async function expectState(
  store: ReturnType<typeof createCheckpointStore>,
  chains: Map<string, string[]>,
  lists: Map<string, SandboxCheckpoint[]>,
  written: ReadonlySet<string>,
) {
  for (const thread of written) {
    const chain = chains.get(thread) ?? []
    const list = await store.list(thread)
    expect(ids(list), thread).toEqual(chain)
    expect(await store.getHead(thread)).toBe(chain.at(-1) ?? null)
    lists.set(thread, list)
  }
  const keys: string[] = []
  for (const one of [...lists.values()].flat()) {
    keys.push(...one.files.map((entry) => (entry.kind === 'file' ? entry.blobKey : '')))
    if (one.reason === 'fork-root') continue
    expect(one.files).toMatchObject([{ blobKey: ownKey(one.id) }, { blobKey: SHARED_KEY }])
  }
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  expect(await store.listBlobReferences()).toEqual(
    [...counts].sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, references]) => ({ key, references })),
  )
}

/** The table has exactly one checkpoint item and one id item for each live checkpoint of the scope. */
async function expectNothingDead({ tenant, project }: { tenant: string; project: string }, live: number) {
  const items: Array<Record<string, unknown>> = []
  for await (const { Items = [] } of paginateScan(
    { client: DynamoDBDocumentClient.from(engines.dynamodb) },
    { TableName: engines.tableName, ConsistentRead: true },
  )) {
    items.push(...Items)
  }
  const checkpoints = items.filter(
    ({ pk, sk }) => String(pk).startsWith(`C#${tenant}#${project}#`) && !String(sk).endsWith('#'),
  )
  const idItems = items.filter(({ pk }) => String(pk).startsWith(`I#${tenant}#${project}#`))
  expect(checkpoints).toHaveLength(live)
  expect(idItems).toHaveLength(live)
}
