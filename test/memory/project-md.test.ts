import { afterAll, describe, expect } from 'vitest'
import { projectMd } from '../../src/memory/project-md.ts'
import { excerptKey, taskKey } from '../../src/table/keys.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import { injectFaults } from '../store/support/faults.ts'
import { startEngines } from '../support/engines.ts'
import { type Memory, memoryOf } from './support/memory.ts'
import { putItems } from './support/put-items.ts'

const engines = await startEngines()
afterAll(engines.stop)

/** The document as it is read when its excerpts are too many to be held. */
async function readInBatches({ scope, clock }: Memory): Promise<string> {
  const table = new Table(engines.dynamodb, engines.tableName)
  return (await Array.fromAsync(projectMd({ table, scope, now: () => clock.now }, 0))).join('')
}

const headings = (document: string) => [...document.matchAll(/^## (.*)$/gm)].map(([, name]) => name)

describe('project.md', () => {
  check('of no tasks is its heading', async () => {
    expect(await memoryOf(engines).projectMd()).toBe('# Project memory\n')
  })

  check('has a section for each task, the one with the newest update first', async () => {
    const { put, attach, clock, projectMd } = memoryOf(engines)
    const start = clock.now
    const time = (ms: number) => new Date(start + ms).toISOString()
    await put('first', 1, '## Turn 1\nAdded the login form and its tests.')
    clock.now = start + 1
    await put('second', 7, '')
    clock.now = start + 2
    await put('third', 1, 'Ends with a line.\n')
    expect(await projectMd()).toBe(
      [
        '# Project memory',
        '',
        ...['## third', '', '- Latest turn: 1', '- Turns: 1', `- Updated: ${time(2)}`, '', 'Ends with a line.', ''],
        ...['## second', '', '- Latest turn: 7', '- Turns: 1', `- Updated: ${time(1)}`, ''],
        ...['## first', '', '- Latest turn: 1', '- Turns: 1', `- Updated: ${time(0)}`, ''],
        ...['## Turn 1', 'Added the login form and its tests.', ''],
      ].join('\n'),
    )
    clock.now = start + 3
    await attach('second', 8, 'a')
    expect(headings(await projectMd())).toEqual(['second', 'third', 'first', 'Turn 1'])
    expect(await projectMd()).toContain(`## second\n\n- Latest turn: 8\n- Turns: 2\n- Updated: ${time(3)}\n`)
  })

  check('shows the summary of the highest turn that has one', async () => {
    const { put, attach, projectMd } = memoryOf(engines)
    const shown = async () => (await projectMd()).split('\n').slice(7).join('\n').trim()
    const expectShown = async (text: string) => expect(await shown()).toBe(text)
    await attach('t', 9, 'a')
    await expectShown('')
    await put('t', 3, 'three')
    await expectShown('three')
    await put('t', 5, 'five')
    await expectShown('five')
    // Rewriting an older turn leaves the newer summary.
    await put('t', 3, 'three again')
    await expectShown('five')
    await put('t', 7, '')
    await expectShown('five')
    await put('t', 5, 'five again')
    await expectShown('five again')
    // Emptying the newest shows the next highest that has one, in an object or not.
    const large = 'large '.repeat(1_000)
    await put('t', 4, large)
    await put('t', 5, '')
    await expectShown(large.slice(0, 2_000).trim())
    await put('t', 4, '')
    await expectShown('three again')
    await put('t', 3, '')
    await expectShown('')
    await put('t', 2, 'two')
    await expectShown('two')
  })

  check('lets no summary swallow the next section', async () => {
    const { put, clock, projectMd } = memoryOf(engines)
    const open = ['```\ncode', '~~~~\ncode', '<!-- comment', '<pre>', '\n']
    for (const [n, summary] of open.entries()) {
      clock.now += 1
      await put(`t${n}`, 1, summary)
    }
    expect(await projectMd()).toContain('```\ncode\n```\n')
    expect(await projectMd()).toContain('~~~~\ncode\n~~~~\n\n## t0\n')
    expect(await projectMd()).toContain('<!-- comment\n-->\n\n## t1\n')
  })

  check(
    'is in order and whole for more tasks than are read at once',
    async () => {
      const memory = memoryOf(engines)
      const { put, clock, projectMd, scope } = memory
      const ids = Array.from({ length: 620 }, (_, n) => `t${(n * 7) % 620}`)
      await put('t0', 1, 'of t0.')
      const table = new Table(engines.dynamodb, engines.tableName)
      const [task, excerpt] = await Promise.all([table.get(taskKey(scope, 't0')), table.get(excerptKey(scope, 't0'))])
      await putItems(
        engines,
        ids.flatMap((id, n) => [
          { ...task, ...taskKey(scope, id), updatedAt: clock.now + n },
          { ...excerpt, ...excerptKey(scope, id), text: `of ${id}.` },
        ]),
      )
      const document = await projectMd()
      expect(headings(document)).toEqual(ids.toReversed())
      for (const id of ids) expect(document).toContain(`of ${id}.\n`)
      expect(await readInBatches(memory)).toBe(document)
    },
    { timeout: 60_000 },
  )

  check(
    'reads excerpts that are too many to be held no further than it is read',
    async () => {
      const { put, scope, clock } = memoryOf(engines)
      await put('t0', 1, 'of t0.')
      const table = new Table(engines.dynamodb, engines.tableName)
      const [task, excerpt] = await Promise.all([table.get(taskKey(scope, 't0')), table.get(excerptKey(scope, 't0'))])
      const ids = Array.from({ length: 2_000 }, (_, n) => `t${n}`)
      const copies = ids.flatMap((id) => [
        { ...task, ...taskKey(scope, id) },
        { ...excerpt, ...excerptKey(scope, id) },
      ])
      await putItems(engines, copies)
      using faults = injectFaults(engines.dynamodb, 'BatchGetItem', [])
      const pieces = projectMd({ table, scope, now: () => clock.now }, 0)
      for (let read = 0; read < 3; read += 1) await pieces.next()
      // Time enough for it to read on, if it would.
      for (let count = 0; count < 50; count += 1) await table.get(taskKey(scope, 't0'))
      // Of 20 reads of 100 excerpts each.
      expect(faults.seen).toBeLessThanOrEqual(10)
      await pieces.return(undefined)
    },
    { timeout: 60_000 },
  )

  check('reads again what DynamoDB has left unread', async () => {
    const memory = memoryOf(engines)
    const { put, projectMd } = memory
    for (const id of ['a', 'b', 'c']) await put(id, 1, `of ${id}.`)
    const whole = await projectMd()
    const partly = async (send: () => Promise<unknown>) => {
      const { output, response } = (await send()) as { output: { Responses: object }; response: unknown }
      const Keys = [{ pk: { S: 'k' }, sk: { S: 'k' } }]
      const UnprocessedKeys = { [engines.tableName]: { Keys } }
      return { output: { ...output, Responses: { [engines.tableName]: [] }, UnprocessedKeys }, response }
    }
    using faults = injectFaults(engines.dynamodb, 'BatchGetItem', [partly, partly])
    expect(await readInBatches(memory)).toBe(whole)
    expect(faults.seen).toBe(3)
  })

  check('ends with an error, and not as if it were whole, when the storage fails', async () => {
    const memory = memoryOf(engines)
    for (const id of ['a', 'b']) await memory.put(id, 1, `of ${id}.`)
    const pass = (send: () => Promise<unknown>) => send()
    const fail = async () => {
      throw new Error('injected')
    }
    for (const faults of [[fail], [pass, fail]]) {
      using _faults = injectFaults(engines.dynamodb, 'Query', faults)
      await expect(memory.projectMd()).rejects.toThrow('injected')
    }
    using _faults = injectFaults(engines.dynamodb, 'BatchGetItem', [fail])
    await expect(readInBatches(memory)).rejects.toThrow('injected')
  })

  check('tells what is there the moment after a write', async () => {
    const { put, store, projectMd } = memoryOf(engines)
    for (let turn = 0; turn < 20; turn++) {
      await put('t', turn, `summary ${turn}`)
      expect(await projectMd()).toContain(`- Latest turn: ${turn}\n- Turns: ${turn + 1}\n`)
      expect(await projectMd()).toContain(`summary ${turn}\n`)
    }
    await store.deleteTask({ taskId: 't', mayDelete: () => true })
    expect(await projectMd()).toBe('# Project memory\n')
  })
})
