import { describe, expect, test } from 'vitest'
import { readRequestIds } from '../../src/anthropic/request-ids.ts'
import { withoutContainer } from '../../src/anthropic/without-container.ts'
import { InvalidInputError } from '../../src/errors.ts'

const read = (text: string) => {
  const { fileIds, echoedFileIds, ...ids } = readRequestIds(text, JSON.parse(text))
  return { ...ids, fileIds: [...fileIds].sort(), echoedFileIds: [...echoedFileIds].sort() }
}
const readBody = (body: object) => read(JSON.stringify(body))
const user = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const source = (file_id: unknown) => ({ type: 'file', file_id })

describe('containers', () => {
  test.each([
    [{ container: 'c1' }, 'c1'],
    [{ container: { id: 'c1', skills: [] } }, 'c1'],
    [{ container: { skills: [] } }, undefined],
    [{ container: { id: null } }, undefined],
    [{ container: null }, undefined],
    [{ container: '' }, ''],
    [{}, undefined],
  ])('of %j', (body, id) => {
    expect(readBody({ ...body, messages: [] }).containerId).toBe(id)
  })

  test.each([7, [], ['c1'], { id: 7 }, { id: ['c1'] }, true])('%j is none', (container) => {
    expect(() => readBody({ container, messages: [] })).toThrow(
      expect.objectContaining({ status: 400, field: 'container' }),
    )
  })
})

describe('files', () => {
  test.each<[string, object]>([
    ['an upload into the container', user({ type: 'container_upload', file_id: 'f1' })],
    ['a document', user({ type: 'document', source: source('f1') })],
    ['an image', user({ type: 'image', source: source('f1') })],
    [
      'a document of blocks',
      user({ type: 'document', source: { type: 'content', content: [{ type: 'image', source: source('f1') }] } }),
    ],
    [
      'a result of a tool',
      user({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: source('f1') }] }),
    ],
    [
      'a result in a result',
      user({
        type: 'tool_result',
        content: [{ type: 'search_result', content: [{ type: 'document', source: source('f1') }] }],
      }),
    ],
    ['an upload that an answer had', { messages: [assistant({ type: 'container_upload', file_id: 'f1' })] }],
    ['a block that is not known yet', user({ type: 'future', from: { file_id: 'f1' } })],
    ['a block without a type', user({ file_id: 'f1' })],
    ['a system prompt', { messages: [], system: [{ type: 'document', source: source('f1') }] }],
    ['an input that is of no tool', user({ type: 'document', input: { type: 'file', file_id: 'f1' } })],
  ])('%s gives access', (_what, body) => {
    expect(readBody(body)).toMatchObject({ fileIds: ['f1'], echoedFileIds: [] })
  })

  test.each<[string, object]>([
    [
      'of a command',
      assistant({
        type: 'bash_code_execution_tool_result',
        content: {
          type: 'bash_code_execution_result',
          content: [{ type: 'bash_code_execution_output', file_id: 'f1' }],
        },
      }),
    ],
    [
      'of code',
      assistant({
        type: 'code_execution_tool_result',
        content: { type: 'code_execution_result', content: [{ type: 'code_execution_output', file_id: 'f1' }] },
      }),
    ],
    ['cited', assistant({ type: 'text', text: 'x', citations: [{ type: 'char_location', file_id: 'f1' }] })],
  ])('a result %s is an echo', (_what, message) => {
    expect(readBody({ messages: [message] })).toMatchObject({ fileIds: [], echoedFileIds: ['f1'] })
  })

  test('the inputs of tools, tools, and texts are nothing', () => {
    const body = {
      messages: [
        assistant(
          { type: 'tool_use', id: 't', name: 'x', input: { file_id: 'f1', source: source('f2') } },
          { type: 'server_tool_use', id: 's', name: 'x', input: { file_id: 'f1' } },
        ),
        { role: 'user', content: '{"file_id":"f1"}' },
      ],
      tools: [{ name: 'x', input_schema: { file_id: 'f1' } }],
      metadata: { file_id: 'f1' },
    }
    expect(readBody(body)).toMatchObject({ fileIds: [], echoedFileIds: [] })
  })

  test('null is none, and what is no text is refused', () => {
    expect(readBody(user({ type: 'text', citations: [{ type: 'char_location', file_id: null }] })).fileIds).toEqual([])
    for (const id of [7, ['f1'], {}]) {
      expect(() => readBody(user({ type: 'document', source: source(id) }))).toThrow(
        expect.objectContaining({ status: 400, field: 'file_id' }),
      )
    }
  })

  test('a thousand are read, one more is refused', () => {
    const uploads = (count: number) =>
      user(...Array.from({ length: count }, (_none, index) => ({ type: 'container_upload', file_id: `f${index}` })))
    expect(readBody(uploads(1_000)).fileIds).toHaveLength(1_000)
    expect(() => readBody(uploads(1_001))).toThrow(InvalidInputError)
  })

  test('no depth is too much', () => {
    const text = `{"messages":${'['.repeat(100_000)}{"file_id":"f1"}${']'.repeat(100_000)}}`
    expect(read(text).fileIds).toEqual(['f1'])
  })
})

describe('names that stand twice', () => {
  test.each([
    ['{"container":"a","container":"b","messages":[]}', 'container'],
    ['{"container":"a","messages":[],"cont\\u0061iner":"b"}', 'container'],
    ['{"messages":[],"messages":[]}', 'messages'],
    ['{"container":{"id":"a","id":"b"},"messages":[]}', 'container.id'],
    ['{"messages":[{"role":"user","content":[],"content":"x"}]}', 'messages.0.content'],
    [
      '{"messages":[{"content":[{"type":"text","type":"container_upload","file_id":"f"}]}]}',
      'messages.0.content.0.type',
    ],
    [
      '{"messages":[{"content":[{"source":{"file_id":"a","file\\u005fid":"b"}}]}]}',
      'messages.0.content.0.source.file_id',
    ],
    ['{"messages":[{"content":[{"type":"tool_use","input":{},"input":{}}]}]}', 'messages.0.content.0.input'],
    ['{"messages":[{"content":[{"type":"document","input":{"a":1,"a":2}}]}]}', 'messages.0.content.0.input.a'],
  ])('%s', (text, field) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ status: 400, field }))
  })

  test.each([
    '{"model":"a","model":"b","messages":[]}',
    '{"messages":[],"tools":[{"input_schema":{"a":1,"a":2}}]}',
    '{"messages":[{"content":[{"type":"tool_use","input":{"a":1,"a":2}}]}]}',
  ])('pass where no ids are: %s', (text) => {
    expect(() => read(text)).not.toThrow()
  })

  test('are counted', () => {
    expect(() => read(`{"messages":[],"tools":{"a":1${',"a":1'.repeat(200)}}}`)).toThrow(InvalidInputError)
  })
})

test.each([{ type: 'create' }, { type: 'continue', previous_message_id: 'm' }, 'x'])(
  'a thread is refused: %j',
  (thread) => {
    expect(() => readBody({ messages: [], thread })).toThrow(expect.objectContaining({ field: 'thread' }))
    expect(() => readBody({ messages: [], thread: null })).not.toThrow()
  },
)

test('a thread that stands twice is refused, whichever of the two a reader takes', () => {
  const text = '{"messages":[],"thread":{"type":"continue","previous_message_id":"m"},"thr\\u0065ad":null}'
  expect(() => readRequestIds(text, JSON.parse(text))).toThrow(expect.objectContaining({ field: 'thread' }))
})

describe('what depends on the container', () => {
  const call = { type: 'server_tool_use', id: 's1', name: 'code_execution', input: {} }
  const result = { type: 'code_execution_tool_result', tool_use_id: 's1', content: {} }
  const fromCode = { type: 'tool_use', id: 't1', caller: { type: 'code_execution_20260120', tool_id: 's1' } }

  test.each<[string, boolean, unknown[]]>([
    ['a call without a result', true, [assistant(call)]],
    ['a call with its result', false, [assistant(call, result)]],
    [
      'a tool called by code',
      true,
      [assistant(call, fromCode), { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1' }] }],
    ],
    ['a tool called directly', false, [assistant({ type: 'tool_use', id: 't1', caller: { type: 'direct' } })]],
    ['an old call by code', false, [assistant(call, fromCode), assistant(result), { role: 'user', content: 'x' }]],
    ['nothing', false, [{ role: 'user', content: 'x' }]],
  ])('%s: %s', (_what, pending, messages) => {
    expect(readBody({ messages }).pendingToolUse).toBe(pending)
  })

  test('a file that is put into it', () => {
    expect(readBody(user({ type: 'container_upload', file_id: 'f1' })).attachesFiles).toBe(true)
    expect(readBody(user({ type: 'document', source: source('f1') })).attachesFiles).toBe(false)
  })
})

describe('a request without its container', () => {
  test.each([
    ['{"container":"c","n":9007199254740993}', '{"n":9007199254740993}'],
    ['{ "n": 1e400, "container" : "c" }', '{ "n": 1e400 }'],
    ['{"a":1,"container":"c","b":2}', '{"a":1,"b":2}'],
    ['{"container":"c"}', '{}'],
    ['{"container":{"id":"c"},"b":2}', '{"b":2}'],
    ['{"container":{"id":"c","skills":[{"id":"s"}]},"b":2}', '{"container":{"skills":[{"id":"s"}]},"b":2}'],
    ['{"container":{"skills":[], "id":"c"}}', '{"container":{"skills":[]}}'],
    ['{"b":{"container":"c"}}', '{"b":{"container":"c"}}'],
    ['{"c\\u006fntainer":"c","b":"\\u00e9é"}', '{"b":"\\u00e9é"}'],
  ])('%s', (text, expected) => {
    expect(withoutContainer(text)).toBe(expected)
  })
})
