import { afterAll, beforeEach, expect, it } from 'vitest'
import { userOwner } from '../../src/files/items.ts'
import { createFileRegistry } from '../../src/files/registry.ts'
import { APP_OWNER } from '../../src/files/types.ts'
import { injectFaults, loseAnswer } from '../store/support/faults.ts'
import { startUpstream } from './support/anthropic.ts'
import { HOUR, newFile, start, type World, world } from './support/world.ts'

const engines = await start()
const upstream = await startUpstream()
afterAll(async () => {
  await upstream.stop()
  await engines.stop()
})

let w: World
beforeEach(() => {
  w = world(engines, upstream.connection)
  upstream.clock = w.clock
})

function registry(user: string = userOwner('ann'), scope = w.scope) {
  return createFileRegistry({ ...engines, scope, user, now: () => w.clock.now })
}

let made = 0
const newId = () => `file_011C${++made}${Date.now()}`

it('tells who sees a file, and no one else', async () => {
  const [own, shared] = [newId(), newId()]
  expect(await registry().register(own, 'user')).toBe(true)
  expect(await registry().register(shared, 'app')).toBe(true)
  const ids = [own, shared, newId(), 'no id#', own]
  const file = { backend: 'anthropic', live: true }
  expect([...(await registry().lookUp(ids))]).toEqual(
    expect.arrayContaining([
      [own, { scope: 'user', ...file }],
      [shared, { scope: 'app', ...file }],
    ]),
  )
  for (const other of [userOwner('bob'), APP_OWNER]) {
    expect([...(await registry(other).lookUp(ids))]).toEqual([[shared, { scope: 'app', ...file }]])
  }
  const elsewhere = { ...w.scope, project: 'other' }
  expect((await registry(userOwner('ann'), elsewhere).lookUp(ids)).size).toBe(0)
})

it('gives a file to one owner, in one write', async () => {
  const id = newId()
  using transactions = injectFaults(engines.dynamodb, 'TransactWriteItems', [])
  using puts = injectFaults(engines.dynamodb, 'PutItem', [])
  expect(await registry().register(id, 'user')).toBe(true)
  expect(transactions.seen + puts.seen).toBe(1)
  expect(await registry().register(id, 'app')).toBe(false)
  expect(await registry(userOwner('bob')).register(id, 'user')).toBe(false)
  const elsewhere = { ...w.scope, project: 'other' }
  expect(await registry(userOwner('ann'), elsewhere).register(id, 'user')).toBe(false)
  expect((await registry().lookUp([id])).get(id)?.scope).toBe('user')
})

it('knows that a write landed whose answer was lost', async () => {
  const id = newId()
  using _faults = injectFaults(engines.dynamodb, 'TransactWriteItems', [loseAnswer(), loseAnswer()])
  expect(await registry().register(id, 'user')).toBe(true)
})

it('reads a hundred files at once', async () => {
  const id = newId()
  await registry().register(id, 'user')
  const ids = [id, ...Array.from({ length: 99 }, newId)]
  using batches = injectFaults(engines.dynamodb, 'BatchGetItem', [])
  expect((await registry().lookUp(ids)).size).toBe(1)
  expect(batches.seen).toBe(1)
  expect((await registry().lookUp([...ids, newId()])).size).toBe(1)
  expect(batches.seen).toBe(3)
})

it('tells uploads from files of sandboxes by where they are, and what has expired from what lives', async () => {
  const there = await w.files().create(newFile({ expiresInSeconds: 3_600 }))
  const here = await w.files().create(newFile({ fromSandbox: true }))
  const ids = [there.id, here.id]
  const found = await registry().lookUp(ids)
  expect(ids.map((id) => found.get(id)?.backend)).toEqual(['anthropic', 's3'])
  w.clock.now += HOUR
  const later = await registry().lookUp(ids)
  expect(ids.map((id) => later.get(id)?.live)).toEqual([false, true])
})
