import { createHash } from 'node:crypto'
import { afterAll, describe, expect } from 'vitest'
import { MAX_ARTIFACT_BYTES, MAX_ARTIFACTS } from '../../src/limits.ts'
import { INDEX_ENTRIES } from '../../src/memory/items.ts'
import { artifactIndexKey } from '../../src/table/keys.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import { send } from '../store/support/send.ts'
import { startEngines } from '../support/engines.ts'
import { objectsOf } from './support/leftovers.ts'
import { ME, memoryOf, RETENTION_SEC } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)

const turn = { taskId: 't', turn: 1 }

describe('an artifact', () => {
  check('makes its turn, with empty meta, and moves the times of a turn that is there', async () => {
    const { store, clock, attach } = memoryOf(engines)
    const record = await attach('t', 1, 'a.txt', 'bytes')
    expect(record).toEqual({
      name: 'a.txt',
      sizeBytes: 5,
      contentType: 'text/x-5',
      sha256: createHash('sha256').update('bytes').digest('hex'),
      createdAt: clock.now,
      updatedAt: clock.now,
    })
    const made = await store.getTurn(turn)
    expect(made).toMatchObject({ meta: '{}', summaryMd: '', artifacts: [record], createdAt: clock.now })
    clock.now += 7
    const second = await attach('t', 1, '0')
    expect(await store.getTurn(turn)).toEqual({
      ...made,
      artifacts: [second, record],
      updatedAt: clock.now,
      retainUntil: clock.now + RETENTION_SEC * 1000,
    })
    expect((await store.getTask({ taskId: 't', limit: 1 }))?.task).toMatchObject({ turnCount: 1, updatedAt: clock.now })
  })

  check('is replaced with its type at once, and keeps when it was made', async () => {
    const { store, clock, attach, text } = memoryOf(engines)
    const first = await attach('t', 1, 'a', 'old')
    const stored = await store.findArtifact({ ...turn, name: 'a' })
    clock.now += 5
    const second = await attach('t', 1, 'a', 'newer')
    expect(second).toMatchObject({ contentType: 'text/x-5', createdAt: first.createdAt, updatedAt: clock.now })
    expect(await text('t', 1, 'a')).toBe('newer')
    // Who found the old one still reads the old one.
    expect(stored && Buffer.from((await store.readArtifact(stored)) ?? []).toString()).toBe('old')
  })

  check('may be empty, or of any bytes, in parts too', async () => {
    const { store, attach, text } = memoryOf(engines)
    await attach('t', 1, 'empty', '')
    expect(await text('t', 1, 'empty')).toBe('')
    await attach('t', 1, 'a', '0123456789')
    const found = await store.findArtifact({ ...turn, name: 'a' })
    if (!found) throw new Error('The artifact must be there.')
    expect(Buffer.from((await store.readArtifact(found, { start: 2, end: 4 })) ?? []).toString()).toBe('234')
    await expect(store.readArtifact(found, { start: 2, end: 10 })).rejects.toThrow(RangeError)
  })

  check('may be as large as 50 MiB, and no larger', async () => {
    const { store } = memoryOf(engines)
    const write = { ...turn, name: 'a', contentType: 'x/y', by: ME }
    const bytes = Buffer.alloc(MAX_ARTIFACT_BYTES + 1, 'x')
    await expect(store.putArtifact({ ...write, bytes })).rejects.toMatchObject({ status: 413, field: 'size_bytes' })
    expect(await store.getTurn(turn)).toBeNull()
    expect(await store.putArtifact({ ...write, bytes: bytes.subarray(1) })).toMatchObject({
      sizeBytes: MAX_ARTIFACT_BYTES,
    })
  })

  check('is downloaded with its own type by a presigned request', async () => {
    const { store, attach } = memoryOf(engines)
    await attach('t', 1, 'a.txt', 'bytes')
    const found = await store.findArtifact({ ...turn, name: 'a.txt' })
    if (!found) throw new Error('The artifact must be there.')
    const request = await store.presignArtifact(found)
    const answer = await fetch(request.url)
    expect(answer.headers.get('content-type')).toBe('text/x-5')
    expect((await send(request)).bytes.toString()).toBe('bytes')
  })

  check('lies where a person finds it', async () => {
    const { attach, scope } = memoryOf(engines)
    await attach('task-42', 7, 'screenshot-001.png')
    expect(await objectsOf(engines, scope)).toEqual([
      expect.stringMatching(/^tasks\/task-42\/turns\/0007\/artifacts\/[0-9a-f-]+\/screenshot-001\.png$/),
    ])
  })

  check('needs a name, a type and a size that keep the rules', async () => {
    const { store, attach, text } = memoryOf(engines)
    for (const name of ['', '.', '..', 'a/b', 'a b', 'é', 'a\n', 'x'.repeat(129)]) {
      await expect(attach('t', 1, name)).rejects.toMatchObject({ status: 400, field: 'name' })
      await expect(store.findArtifact({ ...turn, name })).rejects.toMatchObject({ status: 400, field: 'name' })
    }
    const write = { ...turn, name: 'a', bytes: Buffer.from('x'), by: ME }
    for (const contentType of ['', ' a', 'a ', 'a\r\nb: c', 'text/é', 'a\u00a0b', 'x'.repeat(257)]) {
      const refusal = { status: 400, field: 'content_type' }
      await expect(store.putArtifact({ ...write, contentType })).rejects.toMatchObject(refusal)
    }
    const names = ['...', '-', 'A.b_c-9', 'x'.repeat(128), '__proto__', 'constructor', 'hasOwnProperty', 'toString']
    for (const name of names) expect(await text('t', 1, name)).toBeNull()
    for (const name of names) await attach('t', 1, name)
    for (const name of names) await attach('t', 1, name, `${name} again`)
    for (const name of names) expect(await text('t', 1, name)).toBe(`${name} again`)
    expect((await store.getTurn(turn))?.artifacts.map(({ name }) => name)).toEqual(names.toSorted())
  })
})

describe('the artifacts of a turn', () => {
  check('are all told in the order of their names, also those that have items of their own', async () => {
    const { store, attach, text, clock } = memoryOf(engines)
    const names = Array.from({ length: INDEX_ENTRIES + 8 }, (_, n) => `a${String((n * 7) % 40).padStart(3, '0')}`)
    for (const name of names) await attach('t', 1, name)
    await attach('t', 2, 'b')
    clock.now += 1
    for (const name of [names.at(0), names.at(-1)]) await attach('t', 1, name ?? '', 'replaced')
    const sorted = names.toSorted()
    const read = await store.getTurn(turn)
    expect(read?.artifacts.map(({ name }) => name)).toEqual(sorted)
    expect(read?.artifacts.filter(({ updatedAt, createdAt }) => updatedAt > createdAt)).toHaveLength(2)
    expect(await text('t', 1, names.at(-1) ?? '')).toBe('replaced')
    const page = await store.getTask({ taskId: 't', limit: 2 })
    expect(page?.turns.map(({ artifacts }) => artifacts)).toEqual([
      read?.artifacts,
      [expect.objectContaining({ name: 'b' })],
    ])
    expect((await store.putTurn({ ...turn, meta: '{}', summary: '', by: ME })).artifacts).toEqual(read?.artifacts)
  })

  check('are at most 10,000; those that are there are replaced still', async () => {
    const { store, attach, scope, text } = memoryOf(engines)
    for (let n = 0; n <= INDEX_ENTRIES; n++) await attach('t', 1, `a${n}`)
    const table = new Table(engines.dynamodb, engines.tableName)
    const setCount = (count: number) =>
      table.update(artifactIndexKey(scope, 't', 1), {
        expression: 'SET #count = :count',
        condition: 'attribute_exists(pk)',
        names: { '#count': 'count' },
        values: { ':count': count },
      })
    await setCount(MAX_ARTIFACTS - 1)
    await attach('t', 1, 'last')
    await expect(attach('t', 1, 'one-more')).rejects.toMatchObject({ status: 409, code: 'too_many_artifacts' })
    for (const name of ['a0', `a${INDEX_ENTRIES}`, 'last']) await attach('t', 1, name, 'replaced')
    expect(await text('t', 1, 'last')).toBe('replaced')
    expect(await text('t', 1, 'one-more')).toBeNull()
    const upload = { ...turn, name: 'one-more', sizeBytes: 0, contentType: 'x/y', by: ME }
    const { uploadId, request } = await store.startUpload(upload)
    await send(request)
    const complete = store.completeUpload({ ...turn, name: 'one-more', uploadId, by: ME })
    await expect(complete).rejects.toMatchObject({ status: 409, code: 'too_many_artifacts' })
  })
})
