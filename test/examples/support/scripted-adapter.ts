import type { AnyTextAdapter, StreamChunk, TextOptions } from '@tanstack/ai'

/** What the model says: an answer, a call of a tool, or that it fails. */
export type Reply = { text: string } | { tool: string; input: unknown } | { error: string }

export interface ScriptedAdapter {
  adapter: AnyTextAdapter
  /** What the model was asked, each time. */
  requests: Pick<TextOptions, 'messages' | 'systemPrompts'>[]
}

/** An adapter of TanStack AI whose model gives these replies, one after the other. */
export function scriptedAdapter(replies: Reply[]): ScriptedAdapter {
  const requests: ScriptedAdapter['requests'] = []
  const adapter = {
    kind: 'text',
    name: 'scripted',
    model: 'scripted-1',
    async *chatStream({ messages, systemPrompts = [], runId = 'run', threadId = 'thread' }: TextOptions) {
      requests.push(structuredClone({ messages, systemPrompts }))
      const reply = replies[requests.length - 1] ?? { error: 'The script is over.' }
      yield { type: 'RUN_STARTED', runId, threadId }
      if ('error' in reply) {
        yield { type: 'RUN_ERROR', message: reply.error, runId, threadId }
        return
      }
      yield* 'tool' in reply ? toolCall(`call-${requests.length}`, reply) : textMessage(`m-${requests.length}`, reply)
      yield {
        type: 'RUN_FINISHED',
        runId,
        threadId,
        finishReason: 'tool' in reply ? 'tool_calls' : 'stop',
        usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15 },
      }
    },
  }
  return { adapter: adapter as unknown as AnyTextAdapter, requests }
}

function toolCall(toolCallId: string, { tool, input }: { tool: string; input: unknown }) {
  return [
    { type: 'TOOL_CALL_START', toolCallId, toolCallName: tool },
    { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(input) },
    { type: 'TOOL_CALL_END', toolCallId },
  ]
}

function textMessage(messageId: string, { text }: { text: string }) {
  return [
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: text },
    { type: 'TEXT_MESSAGE_END', messageId },
  ]
}

/** The text of an answer as it was streamed. */
export async function textOf(stream: AsyncIterable<StreamChunk>): Promise<string> {
  let text = ''
  for await (const chunk of stream) if (chunk.type === 'TEXT_MESSAGE_CONTENT') text += chunk.delta
  return text
}
