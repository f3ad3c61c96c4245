/** A content block of the Messages API, as it stands on the wire. */
export type Block = { type: string } & Record<string, unknown>

export interface Container {
  id: string
  expires_at?: string
  skills?: unknown[] | null
}

/** What the model answers. */
export interface Message {
  content: Block[]
  /** Default `end_turn`. */
  stopReason?: string
  container?: Container | null
  /** Where a stream tells the container. Default `delta`, as the API does. */
  containerIn?: 'start' | 'delta' | 'both'
}

const EXPIRES_AT = '2026-12-01T00:00:00Z'
const usage = {
  input_tokens: 10,
  output_tokens: 20,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  server_tool_use: { web_search_requests: 0, code_execution_requests: 1 },
}

function containerOf({ container }: Message) {
  return container ? { expires_at: EXPIRES_AT, skills: null, ...container } : null
}

/** The JSON answer to a request without `stream`. */
export function messageJson(message: Message, model: unknown): Record<string, unknown> {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: message.content,
    stop_reason: message.stopReason ?? 'end_turn',
    stop_sequence: null,
    container: containerOf(message),
    usage,
  }
}

/** The events of a stream, in the API's order: tool inputs in pieces, results whole. */
export function messageEvents(message: Message, model: unknown): Array<{ type: string } & Record<string, unknown>> {
  const where = message.containerIn ?? 'delta'
  const container = containerOf(message)
  const events: Array<{ type: string } & Record<string, unknown>> = [
    {
      type: 'message_start',
      message: {
        ...messageJson(message, model),
        content: [],
        stop_reason: null,
        container: where === 'delta' ? null : container,
      },
    },
    { type: 'ping' },
  ]
  for (const [index, block] of message.content.entries()) {
    const { start, deltas } = parts(block)
    events.push({ type: 'content_block_start', index, content_block: start })
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta })
    events.push({ type: 'content_block_stop', index })
  }
  events.push({
    type: 'message_delta',
    delta: {
      stop_reason: message.stopReason ?? 'end_turn',
      stop_sequence: null,
      ...(where !== 'start' && { container }),
    },
    usage,
  })
  events.push({ type: 'message_stop' })
  return events
}

function parts(block: Block): { start: Block; deltas: object[] } {
  if (block.type === 'text') {
    const halves = halvesOf(String(block.text))
    return { start: { ...block, text: '' }, deltas: halves.map((text) => ({ type: 'text_delta', text })) }
  }
  if (block.type === 'server_tool_use' || block.type === 'tool_use') {
    const halves = halvesOf(JSON.stringify(block.input))
    return {
      start: { ...block, input: {} },
      deltas: halves.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    }
  }
  return { start: block, deltas: [] }
}

function halvesOf(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** Server-sent events as bytes. */
export function sse(events: ReadonlyArray<{ type: string }>): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

export const text = (value: string): Block => ({ type: 'text', text: value })

/** A command that Claude runs in the container, and its result with the files that it made. */
export function bash(id: string, command: string, fileIds: string[]): Block[] {
  return [{ type: 'server_tool_use', id, name: 'bash_code_execution', input: { command } }, bashResult(id, fileIds)]
}

export function bashResult(id: string, fileIds: string[]): Block {
  return {
    type: 'bash_code_execution_tool_result',
    tool_use_id: id,
    content: {
      type: 'bash_code_execution_result',
      stdout: 'ok',
      stderr: '',
      return_code: 0,
      content: fileIds.map((file_id) => ({ type: 'bash_code_execution_output', file_id })),
    },
  }
}

/** Code that Claude runs in the container: a result of it may come in a later message. */
export function codeUse(id: string, code: string): Block {
  return { type: 'server_tool_use', id, name: 'code_execution', input: { code } }
}

export function codeResult(id: string, fileIds: string[], encrypted = false): Block {
  return {
    type: 'code_execution_tool_result',
    tool_use_id: id,
    content: {
      ...(encrypted
        ? { type: 'encrypted_code_execution_result', encrypted_stdout: 'gAAA' }
        : { type: 'code_execution_result', stdout: 'ok' }),
      stderr: '',
      return_code: 0,
      content: fileIds.map((file_id) => ({ type: 'code_execution_output', file_id })),
    },
  }
}
