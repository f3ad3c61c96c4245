import { describe, expect, test } from 'vitest'
import { eventBatches } from '../../src/anthropic/event-stream.ts'
import { readResponseIds } from '../../src/anthropic/response-ids.ts'
import { bash, codeResult, messageEvents, sse, text } from '../ai/support/messages.ts'

async function* chunksOf(bytes: Buffer, ...cuts: number[]): AsyncGenerator<Buffer> {
  let start = 0
  for (const cut of [...cuts, bytes.length]) {
    yield bytes.subarray(start, cut)
    start = cut
  }
}

async function read(chunks: AsyncIterable<Buffer>) {
  const batches = await Array.fromAsync(eventBatches(chunks))
  return { bytes: Buffer.concat(batches.map(({ bytes }) => bytes)), data: batches.flatMap(({ data }) => data), batches }
}

const message = {
  content: [text('Grüße 報告 😀'), ...bash('s1', 'ls "é"', ['file_A']), codeResult('s2', ['file_B'])],
  container: { id: 'container_1' },
  containerIn: 'both' as const,
}
const events = messageEvents(message, 'm')
const stream = Buffer.from(sse(events))
const parsed = (data: string[]) => data.map((text) => JSON.parse(text))

describe('a stream', () => {
  test('cut at any byte gives the same events and the same bytes', async () => {
    for (let cut = 0; cut <= stream.length; cut += 1) {
      const { bytes, data } = await read(chunksOf(stream, cut))
      expect(bytes.equals(stream)).toBe(true)
      if (JSON.stringify(parsed(data)) !== JSON.stringify(events)) expect(parsed(data), `cut at ${cut}`).toEqual(events)
    }
  })

  test.each([1, 2, 3, 7])('in pieces of %i bytes', async (size) => {
    const cuts = Array.from({ length: Math.floor(stream.length / size) }, (_none, index) => (index + 1) * size)
    const { bytes, data, batches } = await read(chunksOf(stream, ...cuts))
    expect(bytes.equals(stream)).toBe(true)
    expect(parsed(data)).toEqual(events)
    expect(batches.length).toBeGreaterThanOrEqual(size === 1 ? events.length : 2)
  })

  test('gives whole events out at once, and holds what is not whole', async () => {
    const source = Promise.withResolvers<Buffer>()
    const first = Buffer.from('data: {"a":1}\n\ndata: {"b"')
    const batches = eventBatches(
      (async function* () {
        yield first
        yield await source.promise
      })(),
    )
    expect((await batches.next()).value).toEqual({ bytes: Buffer.from('data: {"a":1}\n\n'), data: ['{"a":1}'] })
    source.resolve(Buffer.from(':2}\n\n'))
    expect((await batches.next()).value).toMatchObject({ data: ['{"b":2}'] })
  })

  test.each([
    ['LF', 'event: x\ndata: 1\n\ndata: 2\n\n'],
    ['CRLF', 'event: x\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n'],
    ['CR', 'event: x\rdata: 1\r\rdata: 2\r\r'],
    ['no space', 'data:1\n\ndata:2\n\n'],
    ['comments', ': hello\n\ndata: 1\n: more\n\n\n\ndata: 2\nid: 7\n\n'],
    ['an end without an empty line', 'data: 1\n\ndata: 2'],
    ['a byte order mark', '\ufeffdata: 1\n\ndata: 2\n\n'],
  ])('with %s, cut anywhere', async (_what, source) => {
    const bytes = Buffer.from(source)
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const found = await read(chunksOf(bytes, cut))
      expect(found.bytes.equals(bytes)).toBe(true)
      expect(found.data).toEqual(['1', '2'])
    }
  })

  test('joins the lines of one data, and takes an empty stream', async () => {
    expect((await read(chunksOf(Buffer.from('data: {\ndata: }\n\n')))).data).toEqual(['{\n}'])
    expect((await read(chunksOf(Buffer.alloc(0)))).batches).toEqual([])
  })

  test('ends at an event without an end', async () => {
    const piece = Buffer.alloc(1_048_576, 'x')
    const endless = async function* () {
      for (;;) yield piece
    }
    await expect(read(endless())).rejects.toThrow('too long')
  })
})

describe('the ids of an answer', () => {
  const none = { containers: [], files: [] }
  const block = (content_block: object) => ({ type: 'content_block_start', index: 0, content_block })

  test('stand in the events of a stream', () => {
    expect(events.map(readResponseIds).filter(({ containers, files }) => containers.length + files.length > 0)).toEqual(
      [
        { containers: ['container_1'], files: [] },
        { containers: [], files: ['file_A'] },
        { containers: [], files: ['file_B'] },
        { containers: ['container_1'], files: [] },
      ],
    )
  })

  test('stand in a message', () => {
    expect(readResponseIds({ type: 'message', container: { id: 'c' }, content: message.content })).toEqual({
      containers: ['c'],
      files: ['file_A', 'file_B'],
    })
    expect(readResponseIds(block({ type: 'container_upload', file_id: 'f' })).files).toEqual(['f'])
  })

  test.each<[string, unknown]>([
    ['the input of a tool', block({ type: 'tool_use', input: { type: 'container_upload', file_id: 'f' } })],
    [
      'the input of a tool of the provider',
      block({ type: 'server_tool_use', input: { content: { content: [{ file_id: 'f' }] } } }),
    ],
    ['a text', block({ type: 'text', text: '{"type":"container_upload","file_id":"f"}' })],
    [
      'a result of somebody else’s tool',
      block({ type: 'mcp_tool_result', content: [{ type: 'container_upload', file_id: 'f' }] }),
    ],
    [
      'a piece of an input',
      { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{"file_id":"f"}' } },
    ],
    ['an error', { type: 'bash_code_execution_tool_result', content: { type: 'x_error', error_code: 'unavailable' } }],
    ['a container that is null', { type: 'message_delta', delta: { container: null } }],
    ['no object', null],
    ['a text alone', 'file_id'],
  ])('do not come from %s', (_what, value) => {
    expect(readResponseIds(value)).toEqual(none)
  })
})
