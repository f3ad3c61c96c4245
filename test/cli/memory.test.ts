import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { turnJson } from '../../cli/commands/memory/describe.ts'
import type { SandkeepClient } from '../../client/index.ts'
import { startTestApi, type TestApi } from '../http/support/api.ts'
import { runCommand } from './support/command.ts'
import { temporaryFolder } from './support/tree.ts'

let api: TestApi
let client: SandkeepClient
let cwd: string
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())
beforeEach(() => {
  client = api.client()
  cwd = temporaryFolder()
  return () => rmSync(cwd, { recursive: true })
})

const memory = (args: string[], stdin: Uint8Array[] = []) =>
  runCommand(['memory', ...args], { client, cwd, home: cwd, stdin })
const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z'

describe('put and get', () => {
  it('write a turn from files, and show it', async () => {
    writeFileSync(join(cwd, 'notes.md'), '# Done\n\nAll of it.\n')
    writeFileSync(join(cwd, 'meta.json'), '{"agent_id": "claude-code", "id": 9007199254740993}')
    const put = await memory(['put', 'task-42', '1', '--summary', 'notes.md', '--meta', 'meta.json'])
    expect(put).toMatchObject({ code: 0, stderr: '' })
    expect(put.stdout).toMatch(new RegExp(`^task-42 turn 1, kept until ${time}\n$`))
    const shown = await memory(['get', 'task-42', '0001'])
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout.replace(new RegExp(time, 'g'), 'TIME')).toBe(
      [
        'task        task-42',
        'turn        1',
        'created     TIME',
        'updated     TIME',
        'kept until  TIME',
        'meta        {"agent_id":"claude-code","id":9007199254740993}',
        'artifacts   0 artifacts',
        '',
        '# Done',
        '',
        'All of it.',
        '',
        '',
      ].join('\n'),
    )
    expect((await memory(['get', 'task-42', '1', '--only', 'summary'])).stdout).toBe('# Done\n\nAll of it.\n')
    expect((await memory(['get', 'task-42', '1', '--only', 'meta'])).stdout).toBe(
      '{"agent_id":"claude-code","id":9007199254740993}\n',
    )
  })

  it('take one of them from standard input', async () => {
    const summary = [
      Buffer.from('half a 語'.slice(0, 7)),
      Buffer.from('語').subarray(0, 1),
      Buffer.from('語').subarray(1),
    ]
    expect((await memory(['put', 't', '1', '--summary', '-'], summary)).code).toBe(0)
    expect((await client.memory.getTurn({ taskId: 't', turn: 1 }))?.summaryMd).toBe('half a 語')
    expect((await memory(['put', 't', '2', '--meta', '-'], [Buffer.from('{"a":1}')])).code).toBe(0)
    expect((await client.memory.getTurn({ taskId: 't', turn: 2 }))?.metaJson).toBe('{"a":1}')
    expect(await memory(['put', 't', '3', '--meta', '-', '--summary', '-'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('standard input'),
    })
  })

  it('print the record as JSON', async () => {
    writeFileSync(join(cwd, 'meta.json'), '{"model":"m"}')
    const put = await memory(['put', 't', '7', '--meta', 'meta.json', '--json'])
    const record = JSON.parse(put.stdout)
    expect(record).toMatchObject({ task_id: 't', turn: 7, meta: { model: 'm' }, summary_md: '', artifacts: [] })
    expect(JSON.parse((await memory(['get', 't', '7', '--json'])).stdout)).toStrictEqual(record)
  })

  it('print the meta in JSON as it was written', async () => {
    const meta = '{"id":9007199254740993,"big":1e400,"zero":-0,"price":1.10,"2":1,"1":2}'
    writeFileSync(join(cwd, 'meta.json'), meta)
    const put = await memory(['put', 't', '7', '--meta', 'meta.json', '--json'])
    const texts = [put, await memory(['get', 't', '7', '--json']), await memory(['list', 't', '--json'])]
    for (const { code, stdout } of texts) {
      expect(code).toBe(0)
      expect(stdout).toContain(`"meta":${meta},`)
      expect(JSON.parse(stdout)).toMatchObject({ task_id: 't' })
    }
  })

  it('print a meta in JSON however deep it is', () => {
    const metaJson = `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
    const times = { createdAt: 0, updatedAt: 0, retainUntil: 0 }
    const turn = { taskId: 't', turn: 1, meta: JSON.parse(metaJson), metaJson, artifacts: [], ...times }
    expect(turnJson(turn).text).toContain(`"meta":${metaJson},`)
  })

  it('do not let a summary command the terminal', async () => {
    await client.memory.putTurn({ taskId: 't', turn: 1, summaryMd: 'a\u001b[2Jb' })
    expect((await memory(['get', 't', '1'])).stdout).toContain('a\\u{1b}[2Jb')
  })

  it.each([
    [['put', 't', '10000'], 2],
    [['put', 't', 'x'], 2],
    [['put', '-t-', '1'], 2],
    [['put', 'a/b', '1'], 2],
    [['put', 't', '1', '--meta', 'bad.json'], 2],
    [['put', 't', '1', '--meta', 'list.json'], 2],
    [['put', 't', '1', '--summary', 'latin.md'], 2],
    [['put', 't', '1', '--summary', 'none.md'], 2],
    [['put', 't', '1', '--meta', '.'], 2],
    [['put', 't'], 2],
    [['get', 't', '1'], 3],
    [['get', 't', '1', '--only', 'x'], 2],
    [['list', 'none'], 3],
    [['artifact', 'get', 't', '1', 'none'], 3],
    [['artifact', 'put', 't', '1', 'none.bin'], 2],
    [['artifact', 'put', 't', '1', '.'], 2],
    [['artifact', 'put', 't', '1', '-'], 2],
    [['artifact', 'put', 't', '1', 'latin.md', '--name', 'a/b'], 2],
    [['artifact', 'put', 't', '1', 'latin.md', '--type', 'é'], 2],
    [['artifact', 'put', 't', '-1', 'latin.md'], 2],
  ])('%j ends with %d, and says why', async (args, code) => {
    writeFileSync(join(cwd, 'bad.json'), '{')
    writeFileSync(join(cwd, 'list.json'), '[]')
    writeFileSync(join(cwd, 'latin.md'), Buffer.from([0xe9]))
    const outcome = await memory(args)
    expect(outcome).toMatchObject({ code, stdout: '' })
    expect(outcome.stderr).not.toBe('')
    expect(outcome.stderr).not.toMatch(/undefined|\bat .*:\d+|metaJson|summaryMd/)
  })
})

describe('list and rm', () => {
  it('list the tasks, and the turns of one', async () => {
    await client.memory.putTurn({ taskId: 'b', turn: 1, meta: { agent_id: 'claude', model: 'sonnet' } })
    await client.memory.putTurn({ taskId: 'b', turn: 12 })
    await client.memory.putTurn({ taskId: 'a-long-name', turn: 3 })
    const tasks = await memory(['list'])
    expect(tasks).toMatchObject({ code: 0, stderr: '' })
    expect(tasks.stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))).toStrictEqual([
      ['a-long-name', 'turn 3', '1 turn'],
      ['b', 'turn 12', '2 turns'],
      [''],
    ])
    const turns = (await memory(['list', 'b'])).stdout
    expect(turns.replace(new RegExp(time, 'g'), 'TIME')).toBe(
      '1   TIME  0 artifacts  claude sonnet\n12  TIME  0 artifacts  -\n',
    )
    const json = JSON.parse((await memory(['list', 'b', '--json'])).stdout)
    expect(json).toMatchObject({ task_id: 'b', turn_count: 2, turns: [{ turn: 1 }, { turn: 12 }] })
    expect(JSON.parse((await memory(['list', '--json'])).stdout).tasks).toHaveLength(2)
  })

  it('remove a task, also when it is gone', async () => {
    await client.memory.putTurn({ taskId: 't', turn: 1 })
    expect(await memory(['rm', 't'])).toStrictEqual({ code: 0, stdout: 'removed t\n', stderr: '' })
    expect(JSON.parse((await memory(['rm', 't', '--json'])).stdout)).toStrictEqual({ task_id: 't', removed: true })
    expect(JSON.parse((await memory(['list', '--json'])).stdout)).toStrictEqual({ tasks: [] })
  })

  it('remove no task of another, unless the key may', async () => {
    const scope = api.engines.freshScope()
    await api.client({ ...scope }).memory.putTurn({ taskId: 't', turn: 1 })
    client = api.client({ ...scope, apiKey: await api.createKey('writer') })
    expect(await memory(['rm', 't'])).toMatchObject({ code: 5, stdout: '' })
    client = api.client({ ...scope, apiKey: await api.createKey('project_admin') })
    expect(await memory(['rm', 't'])).toMatchObject({ code: 0 })
  })
})

describe('artifact put and get', () => {
  it('keep a file and bring it back, with its progress on standard error', async () => {
    for (const size of [0, 10, 4_194_305]) {
      const bytes = randomBytes(size)
      writeFileSync(join(cwd, 'trajectory.jsonl'), bytes)
      const put = await memory(['artifact', 'put', 't', '1', 'trajectory.jsonl'])
      expect(put.code).toBe(0)
      expect(put.stdout).toMatch(/^trajectory\.jsonl: \d[\d.]* [kM]?B, application\/x-ndjson\n$/)
      expect(put.stderr).toMatch(size === 0 ? /^$/ : /^uploading: \d[\d.]* [kM]?B\n$/)
      rmSync(join(cwd, 'trajectory.jsonl'))
      const get = await memory(['artifact', 'get', 't', '1', 'trajectory.jsonl'])
      expect(get.code).toBe(0)
      expect(readFileSync(join(cwd, 'trajectory.jsonl')).equals(bytes)).toBe(true)
      expect(readdirSync(cwd)).toStrictEqual(['trajectory.jsonl'])
    }
  })

  it('go by standard input and output', async () => {
    const put = await memory(
      ['artifact', 'put', 't', '1', '-', '--name', 'diff.patch', '--json'],
      [Buffer.from('a'), Buffer.from('b')],
    )
    expect(JSON.parse(put.stdout)).toMatchObject({ name: 'diff.patch', size_bytes: 2, content_type: 'text/x-diff' })
    const get = await memory(['artifact', 'get', 't', '1', 'diff.patch', '-'])
    expect(get).toMatchObject({ code: 0, stdout: 'ab' })
  })

  it('take a name, a type and a place', async () => {
    writeFileSync(join(cwd, 'a.bin'), 'x')
    await memory(['artifact', 'put', 't', '1', 'a.bin', '--name', 'b', '--type', 'text/x'])
    const get = await memory(['artifact', 'get', 't', '1', 'b', 'c.txt', '--json'])
    expect(JSON.parse(get.stdout)).toMatchObject({ file: 'c.txt', size_bytes: 1, content_type: 'text/x' })
    expect(readFileSync(join(cwd, 'c.txt'), 'utf8')).toBe('x')
  })

  it('leave a file as it was when the download fails', async () => {
    writeFileSync(join(cwd, 'a'), 'before')
    const failing = {
      ...{ contentType: 'text/x', sizeBytes: 3, sha256: 'h' },
      stream: () =>
        new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(Buffer.from('x')),
          pull: (controller) => controller.error(new Error('cut')),
        }),
    }
    client = { memory: { getArtifact: async () => failing } } as unknown as SandkeepClient
    expect((await memory(['artifact', 'get', 't', '1', 'a'])).code).toBe(1)
    expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('before')
    expect(readdirSync(cwd)).toStrictEqual(['a'])
  })
})

it('project prints the document', async () => {
  await client.memory.putTurn({ taskId: 't', turn: 4, summaryMd: 'What was done.' })
  const printed = await memory(['project'])
  expect(printed).toMatchObject({ code: 0, stderr: '' })
  expect(printed.stdout).toMatch(/^# Project memory\n[\s\S]*## t\n[\s\S]*What was done\./)
  expect(JSON.parse((await memory(['project', '--json'])).stdout)).toStrictEqual({ project_md: printed.stdout })
})

it.each([[], ['put'], ['get'], ['list'], ['rm'], ['project'], ['artifact'], ['artifact', 'put'], ['artifact', 'get']])(
  'help of memory %s %s has an example',
  async (...args) => {
    const { code, stdout } = await memory([...args, '--help'])
    expect(code).toBe(0)
    if (args.join() !== 'artifact') expect(stdout).toMatch(/Examples?:\n {2}\$ |\$ .*sandkeep memory/)
  },
)
