import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { containerArguments, findEngine } from '../../cli/run/container.ts'
import { Mask } from '../../cli/run/mask.ts'
import { parseMeta } from '../../cli/run/options.ts'
import { joinLog, OutputLog } from '../../cli/run/output-log.ts'
import { saveCommand } from '../../cli/run/save-command.ts'
import { writeTurn } from '../../cli/run/turn.ts'
import { hashWorkspace } from '../../cli/workspace/hash-workspace.ts'
import { draftEntries, isScannedFile } from '../../cli/workspace/manifest.ts'
import { type ScannedFile, scanWorkspace } from '../../cli/workspace/scan.ts'
import { statCache } from '../../cli/workspace/stat-cache.ts'
import { type PutTurnInput, SandkeepHttpError, SandkeepNetworkError, type Turn } from '../../client/index.ts'
import { makeTree, temporaryFolder } from './support/tree.ts'

let base: string
beforeEach(() => {
  base = temporaryFolder()
  return () => rmSync(base, { recursive: true, force: true })
})

describe('the log', () => {
  const log = async (chunks: string[]) => {
    const file = join(base, 'log')
    const written = await OutputLog.create(file, 10)
    for (const chunk of chunks) await written.write(Buffer.from(chunk))
    await written.close()
    await joinLog(file)
    expect(readdirSync(base)).toEqual(['log'])
    return readFileSync(file, 'utf8')
  }
  const parts = (count: number) => Array.from({ length: count }, (_, index) => String(index).repeat(10))

  test.each([[[]], [['a', 'b\n']], [parts(3)], [['12345', '67890', 'abcde', 'fghij', 'k']]])(
    'holds all of %j',
    async (chunks) => {
      expect(await log(chunks)).toBe(chunks.join(''))
    },
  )

  test.each([4, 5, 9])('holds the first and the last two of %i parts', async (count) => {
    const all = parts(count)
    expect(await log(all)).toBe(
      `${all[0]}\n[sandkeep: some of the output is left out here]\n${all.at(-2)}${all.at(-1)}`,
    )
  })

  test.each([
    ['being put together', { log: '1', 'log.before-end': '2', 'log.end': '3', 'log.joining': '12' }],
    ['put together', { log: '1', 'log.before-end': '2', 'log.end': '3', 'log.joined': '123' }],
    ['put together, and a part gone', { log: '1', 'log.end': '3', 'log.joined': '123' }],
  ])('is whole, with no part twice in it, after it was %s', async (_name, left) => {
    makeTree(base, left)
    const file = join(base, 'log')
    for (let time = 1; time <= 2; time += 1) {
      await joinLog(file)
      expect([readdirSync(base), readFileSync(file, 'utf8')]).toEqual([['log'], '123'])
    }
  })

  test('is empty where it is gone', async () => {
    await joinLog(join(base, 'log'))
    expect(readFileSync(join(base, 'log'), 'utf8')).toBe('')
  })

  test('takes a chunk that is larger than a part', async () => {
    const chunk = 'x'.repeat(35)
    expect(await log([chunk, 'y'])).toBe(`${chunk}y`)
  })
})

test('secrets are hidden, wherever a chunk ends', () => {
  const text = 'skp_secretskp_skp_secret tok-enskp_secre tok-en-1 x'
  for (let size = 1; size <= text.length; size += 1) {
    const mask = new Mask(['skp_secret', undefined, 'tok-en-1', '', 'x'])
    const chunks: Uint8Array[] = []
    for (let at = 0; at < text.length; at += size) chunks.push(mask.pass(Buffer.from(text.slice(at, at + size))))
    expect(Buffer.concat([...chunks, mask.end()]).toString()).toBe('***skp_*** tok-enskp_secre *** x')
  }
})

test('meta may have any name', () => {
  expect(parseMeta(['__proto__=x', 'a==', 'b='])).toEqual(JSON.parse('{"__proto__":"x","a":"=","b":""}'))
  expect(parseMeta(['cost=1e-3', 'tokens={"cached":1}', 'tokens.input=2', 'model=3'])).toEqual({
    cost: 0.001,
    tokens: { cached: 1, input: 2 },
    model: '3',
  })
  for (const pair of ['=x', 'cost=', 'cost=NaN', 'tokens=', 'tokens.input=x', 'timed_out=x', 'snapshot_seq=1']) {
    expect(() => parseMeta([pair])).toThrow('--meta')
  }
})

test('tokens are an object whose numbers are numbers', () => {
  for (const json of ['', '1', 'null', '"x"', '[]', '{', '{"input":"1"}', '{"output":true}', '{"input":{}}']) {
    expect(() => parseMeta([`tokens=${json}`]), json).toThrow('--meta tokens')
  }
  expect(parseMeta(['tokens={"input":null,"output":0,"by":{"x":"y"}}'])).toEqual({
    tokens: { input: null, output: 0, by: { x: 'y' } },
  })
  // What comes later counts.
  expect(parseMeta(['tokens.input=1', 'tokens={"input":2}', 'tokens.output=3'])).toEqual({
    tokens: { input: 2, output: 3 },
  })
})

test('the command that saves a run can be pasted into a shell', () => {
  expect(saveCommand("/tmp/it's here/x", { url: 'https://a.example/api', apiKey: 'secret', project: 'p q' })).toBe(
    "sandkeep save '/tmp/it'\\''s here/x' --url https://a.example/api --project 'p q'",
  )
})

describe('a turn', () => {
  const taken = new SandkeepHttpError(412, 'turn_exists', 'There is one.')
  const world = (turns: Map<number, string>, answers: Array<'lost' | 'race'> = []) => {
    const told: number[] = []
    return {
      told,
      turns,
      input: {
        taskId: 't',
        turn: null,
        meta: { sandbox_id: 'mine' },
        summaryMd: '',
        artifacts: [],
        onTurn: async (turn: number) => void told.push(turn),
        memory: {
          async *listTurns() {
            for (const turn of [...turns.keys()].sort((left, right) => left - right)) yield { turn } as never
          },
          getTask: async () => (turns.size === 0 ? null : ({ latestTurn: Math.max(...turns.keys()) } as never)),
          getTurn: async ({ turn }: { turn: number }) => ({ meta: { sandbox_id: turns.get(turn) } }) as unknown as Turn,
          async putTurn({ turn, meta, ifAbsent }: PutTurnInput) {
            const answer = answers.shift()
            if (answer === 'race') turns.set(turn, 'other')
            if (turns.has(turn) && ifAbsent) throw taken
            turns.set(turn, meta?.sandbox_id ?? '')
            // As the client repeats it.
            if (answer === 'lost') throw taken
            return {} as Turn
          },
          putArtifact: async () => ({}) as never,
        },
      },
    }
  }

  test('is the first, or the one after the latest, but never 0', async () => {
    expect(await writeTurn(world(new Map()).input)).toBe(1)
    expect(await writeTurn(world(new Map([[0, 'other']])).input)).toBe(1)
    expect(await writeTurn(world(new Map([[7, 'other']])).input)).toBe(8)
  })

  test('takes the next number when another was quicker', async () => {
    const { input, told, turns } = world(new Map([[1, 'other']]), ['race', 'race'])
    expect(await writeTurn(input)).toBe(4)
    expect(told).toEqual([2, 3, 4])
    expect(turns.get(4)).toBe('mine')
  })

  test('knows its own when the answer was lost', async () => {
    const { input, turns } = world(new Map(), ['lost'])
    expect(await writeTurn(input)).toBe(1)
    expect([...turns]).toEqual([[1, 'mine']])
    expect(await writeTurn({ ...input, turn: 1 })).toBe(1)
  })

  test('takes a number that was left out, once the last is taken', async () => {
    expect(await writeTurn(world(new Map([[9_999, 'other']])).input)).toBe(1)
    const { input, told } = world(new Map([0, 1, 2, 4, 9_999].map((turn) => [turn, 'other'])), ['race'])
    expect(await writeTurn(input)).toBe(5)
    expect(told).toEqual([3, 5])
    expect(await writeTurn(world(new Map([[9_998, 'other']]), ['race', 'race']).input)).toBe(2)
  })

  test('has no number after the last, and fails as its requests do', async () => {
    const all = Array.from({ length: 9_999 }, (_, index): [number, string] => [index + 1, 'other'])
    await expect(writeTurn(world(new Map(all)).input)).rejects.toThrow('no further')
    const { input } = world(new Map())
    const gone = new SandkeepNetworkError('http://h', new Error('gone'))
    input.memory.putTurn = () => Promise.reject(gone)
    await expect(writeTurn(input)).rejects.toBe(gone)
  })
})

describe('a file that does not hold still', () => {
  const scanned = async () => {
    makeTree(base, { calm: 'x', restless: 'x' })
    const { entries } = await scanWorkspace(base)
    const files = entries.filter(isScannedFile)
    // No file can be read where a folder is now.
    makeTree(base, { 'restless/x': 'x' }, ['restless'])
    return files
  }
  const hash = (files: ScannedFile[], skipRestless: boolean) =>
    hashWorkspace({
      root: base,
      files,
      cache: statCache(join(base, 'cache'), base),
      skipRestless,
      signal: new AbortController().signal,
      progress: { start: () => undefined, advance: () => undefined },
    })

  test('has no hash, where that is wanted', async () => {
    await expect(hash(await scanned(), false)).rejects.toThrow('restless keeps changing')
    rmSync(join(base, 'restless'), { recursive: true })
    const files = await scanned()
    expect(await hash(files, true)).toMatchObject({ restless: ['restless'], read: 1 })
    expect(files.map(({ sha256 }) => sha256 === null)).toEqual([false, true])
  })

  test('stays as the snapshot before has it', async () => {
    const files = await scanned()
    const { restless } = await hash(files, true)
    const parent = files.map(({ path }) => ({ path, kind: 'file' as const, blobKey: 'k', size: 7, mode: 0o600 }))
    const { draft, changed } = draftEntries(files, parent, new Set(restless))
    expect(draft[1]).toBe(parent[1])
    expect(changed).toBe(true)
    expect(draftEntries(files.slice(1), parent.slice(1), new Set(restless)).changed).toBe(false)
    expect(draftEntries(files.slice(1), [], new Set(restless))).toEqual({ draft: [], changed: false })
  })
})

describe('a container', () => {
  test('is run by the first engine on the PATH', async () => {
    makeTree(base, {
      'a/podman': { text: '', mode: 0o755 },
      'b/docker': { text: '', mode: 0o755 },
      'c/docker': 'no program',
    })
    const path = (...names: string[]) => ({ PATH: names.map((name) => join(base, name)).join(':') })
    expect(await findEngine(path('c', 'a', 'b'))).toEqual({ name: 'docker', program: join(base, 'b/docker') })
    expect(await findEngine(path('c', 'a'))).toEqual({ name: 'podman', program: join(base, 'a/podman') })
    await expect(findEngine(path('c', 'missing'))).rejects.toThrow('--image needs docker or podman on the PATH')
    await expect(findEngine({})).rejects.toThrow('--image needs')
  })

  test.each([
    ['docker', 0, []],
    ['docker', 1000, ['--user=1000:1001']],
    ['podman', 0, []],
    ['podman', 1000, ['--userns=keep-id']],
  ] as const)('of %s, for the user %i, has the workspace, and the command as it was given', (name, user, expected) => {
    vi.spyOn(process, 'getuid').mockReturnValue(user)
    vi.spyOn(process, 'getgid').mockReturnValue(1001)
    const args = containerArguments({
      engine: { name, program: `/bin/${name}` },
      image: 'node:24',
      name: 'n',
      workspace: '/tmp/w',
      env: { SANDBOX_ID: 's', OTHER: 'a b' },
      command: ['npm', 'test', '--', '--x'],
    })
    vi.restoreAllMocks()
    expect(args).toEqual([
      ...['run', '--rm', '--init', '--interactive', '--name=n', ...expected],
      ...['--mount=type=bind,source=/tmp/w,target=/workspace', '--workdir=/workspace'],
      ...['--env=SANDBOX_ID=s', '--env=OTHER=a b', 'node:24', 'npm', 'test', '--', '--x'],
    ])
  })

  test('may have a workspace of any name', () => {
    const engine = { name: 'docker', program: 'docker' } as const
    const workspace = '/tmp/a,"b"'
    expect(containerArguments({ engine, image: 'i', name: 'n', workspace, env: {}, command: ['true'] })).toContain(
      '--mount=type=bind,"source=/tmp/a,""b""",target=/workspace',
    )
  })
})
