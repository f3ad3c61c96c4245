import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Scope } from '../../src/tenancy/scope.ts'
import { startTestApi, type TestApi } from './support/api.ts'
import { type Call, memoryCaller } from './support/memory.ts'

let api: TestApi
let apiKey: string
let scope: Scope
let call: Call
beforeAll(async () => {
  api = await startTestApi()
  apiKey = await api.createKey('writer')
})
afterAll(() => api.stop())
beforeEach(() => {
  scope = api.engines.freshScope()
  call = memoryCaller(api, apiKey, scope)
})

const TURN = '/tasks/task-42/turns/1'
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

const sample = {
  meta: {
    agent_id: 'claude-code',
    model: 'claude-sonnet-4-5',
    job_id: 'job-123',
    sandbox_id: 'sbx-abc',
    commit: 'abc1234',
    exit_code: 0,
    started_at: '2026-11-04T10:00:00Z',
    ended_at: '2026-11-04T10:05:00Z',
    tokens: { input: 1200, output: 340 },
    cost: 0.04,
    claude_session_id: 'sess-1',
  },
  summary_md: '## Turn 1\nAdded the login form and its tests.',
}

describe('PUT and GET of a turn', () => {
  it('answer with the whole record', async () => {
    const written = await call('PUT', TURN, { body: sample })
    expect(written.status).toBe(200)
    expect(written.headers.get('content-type')).toBe('application/json')
    expect(written.json).toStrictEqual({
      task_id: 'task-42',
      turn: 1,
      ...sample,
      artifacts: [],
      created_at: time,
      updated_at: time,
      retain_until: time,
    })
    const kept = Date.parse(written.json.retain_until) - Date.parse(written.json.updated_at)
    expect(kept).toBe(2_592_000_000)
    const read = await call('GET', TURN)
    expect(read.status).toBe(200)
    expect(read.json).toStrictEqual(written.json)
  })

  it('replace meta and summary as a whole, and keep artifacts and the time of the making', async () => {
    const first = await call('PUT', TURN, { body: sample })
    const artifact = await call('PUT', `${TURN}/artifacts/a.txt`, { body: Buffer.from('x') })
    const second = await call('PUT', TURN, { body: { meta: { extra: 1 } } })
    expect(second.json).toMatchObject({
      meta: { extra: 1 },
      summary_md: '',
      artifacts: [artifact.json],
      created_at: first.json.created_at,
    })
    expect(second.json.meta).toStrictEqual({ extra: 1 })
    expect((await call('PUT', TURN, { body: {} })).json).toMatchObject({ meta: {}, summary_md: '' })
    expect((await call('GET', TURN)).json.meta).toStrictEqual({})
  })

  it.each(['0', '00', '0000', '1', '01', '0001', '9999'])('take the turn %s as a number', async (turn) => {
    const { status, json } = await call('PUT', `/tasks/t/turns/${turn}`, { body: {} })
    expect([status, json.turn]).toStrictEqual([200, Number(turn)])
    expect((await call('GET', `/tasks/t/turns/${Number(turn)}`)).status).toBe(200)
  })

  it.each([
    ['-1', 'turn'],
    ['10000', 'turn'],
    ['00001', 'turn'],
    ['1.0', 'turn'],
    ['1e1', 'turn'],
    ['0x1', 'turn'],
    ['one', 'turn'],
    ['%31', 'turn'],
    ['+1', 'turn'],
    ['١', 'turn'],
  ])('refuse the turn %s', async (turn, field) => {
    for (const method of ['GET', 'PUT']) {
      const { status, json } = await call(method, `/tasks/t/turns/${turn}`, method === 'PUT' ? { body: {} } : {})
      expect([status, json.error.code, json.error.field]).toStrictEqual([400, 'invalid_input', field])
    }
  })

  it.each(['a', 'A.b_c-9', '0', 'a'.repeat(128)])('take the task %s', async (task) => {
    expect((await call('PUT', `/tasks/${task}/turns/1`, { body: {} })).json.task_id).toBe(task)
  })

  it.each([
    '.a',
    '-a',
    '_a',
    'a%2Fb',
    'a%20b',
    'a+b',
    'a%00',
    'a:b',
    'é',
    '%E2%82%AC',
    '%',
    'a'.repeat(129),
    'a*',
    'a%23',
  ])('refuse the task %s', async (task) => {
    for (const [method, path] of [
      ['PUT', `/tasks/${task}/turns/1`],
      ['GET', `/tasks/${task}/turns/1`],
      ['GET', `/tasks/${task}`],
      ['DELETE', `/tasks/${task}`],
      ['GET', `/tasks/${task}/turns/1/artifacts/a`],
    ] as const) {
      const { status, json } = await call(method, path, method === 'PUT' ? { body: {} } : {})
      expect([status, json.error.field], `${method} ${path}`).toStrictEqual([400, 'task_id'])
    }
  })

  it('are 404 for what is not there, of a task that is there or not', async () => {
    await call('PUT', TURN, { body: {} })
    const unknown = [await call('GET', '/tasks/task-42/turns/2'), await call('GET', '/tasks/other/turns/1')]
    for (const { status, json } of unknown) {
      expect([status, json]).toStrictEqual([404, { error: { code: 'not_found', message: 'Not found.' } }])
    }
  })
})

describe('the meta of a turn comes back as the text that was sent', () => {
  const put = (meta: string) => call('PUT', TURN, { body: `{ "summary_md" : "s" , "meta" : ${meta} }` })

  it.each([
    '{"z":1,"a":2,"10":3,"9":4}',
    '{"id":9007199254740993,"big":123456789012345678901234567890}',
    '{"n":1e400,"m":-1e400,"e":1E+2,"f":1.50,"g":-0,"h":0.1000000000000000055511151231257827}',
    '{"cost":1e400,"exit_code":-0,"tokens":{"input":9007199254740993,"output":1.0,"cached":12}}',
    '{"a":"\\u00e9\\u0041\\/\\n","é":"é","\\u0062":1,"half":"\\ud800"}',
    '{"":"","empty":{},"none":[],"null":null,"nested":{"a":[[],[{}],"  spaces  kept  "]}}',
    '{"__proto__":{"a":1},"constructor":1,"toString":null,"hasOwnProperty":[]}',
    '{"agent_id":null,"model":null,"exit_code":null,"tokens":null,"cost":null}',
    '{"tokens":{"input":null,"output":null}}',
    '{"undefined":true,"text":"{\\"a\\": [1, 2]}"}',
  ])('%s', async (meta) => {
    const written = await put(meta)
    expect(written.status).toBe(200)
    const read = await call('GET', TURN)
    expect(read.text).toBe(written.text)
    expect(read.text).toContain(`"meta":${meta},"summary_md":"s"`)
    expect((await call('GET', '/tasks/task-42')).text).toContain(`"meta":${meta},"artifacts"`)
  })

  it('but for the white space between its parts', async () => {
    await put('{ "a" :\t[ 1 ,\n 2 ] ,\r\n "b c" : " d " }')
    expect((await call('GET', TURN)).text).toContain('"meta":{"a":[1,2],"b c":" d "},')
  })

  it('as deep as a body may be', async () => {
    const deep = `{"a":${'['.repeat(1_022)}${']'.repeat(1_022)}}`
    expect((await put(deep)).status).toBe(200)
    expect((await call('GET', TURN)).text).toContain(`"meta":${deep},`)
  })
})

describe('the body of a turn is refused', () => {
  it.each<[string, string]>([
    ['{"summary":"lost"}', 'summary'],
    ['{"Meta":{}}', 'Meta'],
    ['{"meta":{},"__proto__":{}}', '__proto__'],
    ['{"meta":null}', 'meta'],
    ['{"meta":[]}', 'meta'],
    ['{"meta":"{}"}', 'meta'],
    ['{"summary_md":null}', 'summary_md'],
    ['{"summary_md":1}', 'summary_md'],
    ['{"summary_md":["a"]}', 'summary_md'],
    ['{"summary_md":"\\ud800"}', 'summary_md'],
    ['{"summary_md":"\\udc00\\ud800"}', 'summary_md'],
    ['{"summary_md":"ok","summary_md":"ok"}', 'summary_md'],
    ['{"meta":{},"\\u006deta":{}}', 'meta'],
    ['{"meta":{"a":1,"\\u0061":1}}', 'meta.a'],
    ['{"meta":{"x":[{"y":{"z":1,"z":2}}]}}', 'meta.x.0.y.z'],
    ['{"meta":{"agent_id":1}}', 'meta.agent_id'],
    ['{"meta":{"model":{}}}', 'meta.model'],
    ['{"meta":{"job_id":false}}', 'meta.job_id'],
    ['{"meta":{"sandbox_id":[]}}', 'meta.sandbox_id'],
    ['{"meta":{"commit":7}}', 'meta.commit'],
    ['{"meta":{"exit_code":"0"}}', 'meta.exit_code'],
    ['{"meta":{"started_at":1764504000000}}', 'meta.started_at'],
    ['{"meta":{"ended_at":true}}', 'meta.ended_at'],
    ['{"meta":{"tokens":5}}', 'meta.tokens'],
    ['{"meta":{"tokens":[]}}', 'meta.tokens'],
    ['{"meta":{"tokens":{"input":"1"}}}', 'meta.tokens.input'],
    ['{"meta":{"tokens":{"output":{}}}}', 'meta.tokens.output'],
    ['{"meta":{"cost":"0.04"}}', 'meta.cost'],
    ['{"meta":{"claude_session_id":0}}', 'meta.claude_session_id'],
    ['[]', 'body'],
    ['null', 'body'],
    ['"meta"', 'body'],
    ['', 'body'],
    ['{', 'body'],
    ['{"meta":{}}x', 'body'],
    ["{'meta':{}}", 'body'],
    ['{"meta":{"n":NaN}}', 'body'],
  ])('%s, naming %s', async (body, field) => {
    const { status, json } = await call('PUT', TURN, { body })
    expect([status, json.error.code, json.error.field]).toStrictEqual([400, 'invalid_input', field])
    expect((await call('GET', TURN)).status).toBe(404)
  })

  it('when it is not UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('{"summary_md":"'), Buffer.from([0xff]), Buffer.from('"}')])
    const { status, json } = await call('PUT', TURN, { body, headers: { 'content-type': 'application/json' } })
    expect([status, json.error.field]).toStrictEqual([400, 'body'])
  })

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])(
    'as 415 when its type is %s',
    async (type) => {
      const { status, json } = await call('PUT', TURN, {
        body: Buffer.from('{}'),
        headers: type === undefined ? {} : { 'content-type': type },
      })
      expect([status, json.error.code]).toStrictEqual([415, 'unsupported_media_type'])
    },
  )
})

describe('limits of a turn', () => {
  const MIB = 1_048_576
  /** A meta of exactly so many bytes of compact JSON. */
  const metaOf = (bytes: number, unit = 'x') => {
    const fill = (bytes - '{"a":""}'.length) / Buffer.byteLength(unit)
    return `{"a":"${unit.repeat(Math.floor(fill))}${'x'.repeat((bytes - 8) % Buffer.byteLength(unit))}"}`
  }

  it.each(['x', 'é', '€', '😀'])('a meta of 65,536 bytes of %s works, and one more is 413', async (unit) => {
    const full = metaOf(65_536, unit)
    expect(Buffer.byteLength(full)).toBe(65_536)
    expect((await call('PUT', TURN, { body: `{"meta":${full}}` })).status).toBe(200)
    expect((await call('GET', TURN)).text).toContain(`"meta":${full},`)
    const { status, json } = await call('PUT', TURN, { body: `{"meta":${full.replace('"}', 'y"}')}}` })
    expect([status, json.error.code, json.error.field]).toStrictEqual([413, 'payload_too_large', 'meta'])
  })

  it('white space in a meta does not count', async () => {
    const spaced = metaOf(65_536).replace('{"a":', `{${' '.repeat(100_000)}"a"  :`)
    expect((await call('PUT', TURN, { body: `{"meta":${spaced}}` })).status).toBe(200)
  })

  it.each([
    ['x', MIB],
    ['語', Math.floor(MIB / 3)],
    ['😀', MIB / 4],
    ['\n', MIB],
    ['"', MIB],
    ['\\', MIB],
  ])('a summary of 1 MiB of %j works, and one more byte is 413', async (unit, repeats) => {
    const full = unit.repeat(repeats) + 'x'.repeat(MIB - repeats * Buffer.byteLength(unit))
    expect(Buffer.byteLength(full)).toBe(MIB)
    const written = await call('PUT', TURN, { body: { summary_md: full } })
    expect(written.status).toBe(200)
    const read = await call('GET', TURN)
    expect(read.status).toBe(200)
    expect(read.json.summary_md === full).toBe(true)
    const { status, json } = await call('PUT', TURN, { body: { summary_md: `${full}y` } })
    expect([status, json.error.code, json.error.field]).toStrictEqual([413, 'payload_too_large', 'summary_md'])
  })

  it('both at once, at their limits, work', async () => {
    const summary_md = `${'語'.repeat(349_525)}x`
    const body = `{"meta":${metaOf(65_536)},"summary_md":${JSON.stringify(summary_md)}}`
    expect((await call('PUT', TURN, { body })).status).toBe(200)
    expect((await call('GET', TURN)).json.summary_md === summary_md).toBe(true)
  })

  it('a body of 4 MiB is read, and one more byte is 413 whatever it holds', async () => {
    const body = `{"meta":{}${' '.repeat(4_194_304 - '{"meta":{}}'.length)}}`
    expect((await call('PUT', TURN, { body })).status).toBe(200)
    const { status, json } = await call('PUT', TURN, { body: `${body} ` })
    expect([status, json.error.code]).toStrictEqual([413, 'payload_too_large'])
    expect(json.error).not.toHaveProperty('upload')
    expect((await call('PUT', TURN, { body: 'x'.repeat(4_194_305) })).status).toBe(413)
  })

  it('a summary that grows in JSON beyond what an answer takes comes by way of the storage', async () => {
    // Each of these has six characters in JSON, so that not a whole MiB of them can be sent at once.
    const summary_md = '\u0001'.repeat(690_000)
    const written = await call('PUT', TURN, { body: { summary_md } })
    expect(written.status).toBe(200)
    for (let index = 0; index < 150; index++) {
      const headers = { 'content-type': `text/plain; filler="${'x'.repeat(200)}"` }
      await call('PUT', `${TURN}/artifacts/${index}`, { body: Buffer.from('x'), headers })
    }
    const read = await call('GET', TURN)
    expect(read.status).toBe(303)
    const followed = await fetch(read.headers.get('location') ?? '')
    const turn = (await followed.json()) as { summary_md: string; artifacts: unknown[] }
    expect(turn.summary_md === summary_md).toBe(true)
    expect(turn.artifacts).toHaveLength(150)
  })
})
