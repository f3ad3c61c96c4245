import { createAnthropic } from '@ai-sdk/anthropic'
import { isStepCount, tool } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  callableFromSandbox,
  codeExecutionTool,
  forwardSandboxContainer,
  reuseSandbox,
  sandboxOutputs,
  sandboxUpload,
} from '../../client/ai/index.ts'
import { type AnthropicEndpoint, startAnthropic } from './support/anthropic-endpoint.ts'
import { bash, bashResult, codeResult, codeUse, text } from './support/messages.ts'
import { ways } from './support/run.ts'

let endpoint: AnthropicEndpoint
const model = () => createAnthropic({ baseURL: `${endpoint.url}/v1`, apiKey: 'k' })('claude-sonnet-4-5')
const sent = (index: number) => endpoint.requests[index]?.body
const betas = (index: number) => String(endpoint.requests[index]?.headers['anthropic-beta'] ?? '').split(',')
const container = (id: string) => ({ id })

beforeAll(async () => {
  endpoint = await startAnthropic()
})
afterAll(() => endpoint.stop())

const crm = (execute: (input: { id: string }) => unknown) =>
  tool({
    description: 'Looks a customer up.',
    inputSchema: z.object({ id: z.string() }),
    execute,
    providerOptions: { anthropic: { deferLoading: false } },
  })

describe.each(Object.entries(ways))('%s', (_name, run) => {
  test('one step: the code tool on the wire, and what its run left', async () => {
    endpoint.replyWith({
      content: [text('Let me see.'), ...bash('srvtoolu_1', 'ls', ['file_A', 'file_B']), text('Done.')],
      container: container('container_1'),
    })
    const steps = await run({ model: model(), prompt: 'go', tools: { code_execution: codeExecutionTool() } })
    expect(sent(0).tools).toEqual([{ type: 'code_execution_20260120', name: 'code_execution' }])
    expect(sent(0)).not.toHaveProperty('container')
    expect(sandboxOutputs(steps)).toEqual({ containerId: 'container_1', fileIds: ['file_A', 'file_B'] })
  })

  test('a turn of three steps keeps its container, and its files are listed once, in order', async () => {
    const calls: string[] = []
    const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_2' }
    endpoint.replyWith(
      {
        content: [
          ...bash('srvtoolu_1', 'make', ['file_A', 'file_B']),
          codeUse('srvtoolu_2', 'crm()'),
          { type: 'tool_use', id: 'toolu_1', name: 'crm', input: { id: '7' }, caller },
        ],
        stopReason: 'tool_use',
        container: container('container_1'),
      },
      {
        // The result of the code comes a step after the call.
        content: [
          codeResult('srvtoolu_2', ['file_B', 'file_C']),
          { type: 'tool_use', id: 'toolu_2', name: 'crm', input: { id: '8' }, caller: { type: 'direct' } },
        ],
        stopReason: 'tool_use',
        container: container('container_1'),
      },
      { content: [text('Done.')], container: null },
    )
    const steps = await run({
      model: model(),
      prompt: 'go',
      tools: {
        code_execution: codeExecutionTool(),
        crm: callableFromSandbox(
          crm(({ id }) => {
            calls.push(id)
            return { ok: true }
          }),
        ),
      },
      prepareStep: forwardSandboxContainer,
      stopWhen: isStepCount(5),
    })
    expect([0, 1, 2].map((index) => sent(index).container)).toEqual([undefined, 'container_1', 'container_1'])
    expect(calls).toEqual(['7', '8'])
    const wire = sent(0).tools.find(({ name }: { name: string }) => name === 'crm')
    expect(wire).toMatchObject({
      allowed_callers: ['direct', 'code_execution_20260120'],
      defer_loading: false,
    })
    expect(betas(0)).toContain('advanced-tool-use-2025-11-20')
    expect(sandboxOutputs(steps)).toEqual({ containerId: 'container_1', fileIds: ['file_A', 'file_B', 'file_C'] })
    expect(sandboxOutputs(JSON.parse(JSON.stringify(steps)))).toEqual(sandboxOutputs(steps))
    expect(forwardSandboxContainer({ steps: JSON.parse(JSON.stringify(steps)) })).toEqual({
      providerOptions: { anthropic: { container: { id: 'container_1' } } },
    })
  })

  test('the newest container of a turn counts', async () => {
    endpoint.replyWith(
      {
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'crm', input: { id: '7' } }],
        stopReason: 'tool_use',
        container: container('container_new'),
      },
      { content: [text('Done.')], container: null },
    )
    const steps = await run({
      model: model(),
      prompt: 'go',
      tools: { code_execution: codeExecutionTool(), crm: crm(() => 1) },
      prepareStep: forwardSandboxContainer,
      stopWhen: isStepCount(5),
      providerOptions: { ...reuseSandbox('container_saved') },
    })
    expect([0, 1].map((index) => sent(index).container)).toEqual(['container_saved', 'container_new'])
    expect(sandboxOutputs(steps).containerId).toBe('container_new')
  })

  test('skills stay beside the container that is forwarded', async () => {
    endpoint.replyWith(
      {
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'crm', input: { id: '7' } }],
        stopReason: 'tool_use',
        container: container('container_new'),
      },
      { content: [text('Done.')] },
    )
    await run({
      model: model(),
      prompt: 'go',
      tools: { code_execution: codeExecutionTool(), crm: crm(() => 1) },
      prepareStep: forwardSandboxContainer,
      stopWhen: isStepCount(5),
      providerOptions: {
        anthropic: { container: { id: 'container_saved', skills: [{ type: 'anthropic', skillId: 'docx' }] } },
      },
    })
    expect([0, 1].map((index) => sent(index).container.id)).toEqual(['container_saved', 'container_new'])
    expect(sent(1).container.skills).toEqual([{ type: 'anthropic', skill_id: 'docx' }])
    expect(betas(1)).toEqual(expect.arrayContaining(['skills-2025-10-02', 'files-api-2025-04-14']))
  })

  test('an uploaded file goes into the container, whatever its type', async () => {
    const files = [
      { id: 'file_1', filename: 'in put.csv', mime_type: 'text/csv' },
      { id: 'file_2', filename: 'photo.png', mime_type: 'image/png' },
      { id: 'file_3', filename: 'blob', mime_type: 'application/octet-stream' },
    ]
    endpoint.replyWith({ content: [text('Done.')] })
    await run({
      model: model(),
      messages: [{ role: 'user', content: [{ type: 'text', text: 'sum' }, ...files.map(sandboxUpload)] }],
      tools: { code_execution: codeExecutionTool() },
    })
    expect(sent(0).messages[0].content).toEqual([
      { type: 'text', text: 'sum' },
      ...files.map(({ id }) => ({ type: 'container_upload', file_id: id })),
    ])
    expect(betas(0)).toContain('files-api-2025-04-14')
  })

  test('a turn that was paused goes on in its container', async () => {
    endpoint.replyWith(
      { content: [codeUse('srvtoolu_1', 'long()')], stopReason: 'pause_turn', container: container('container_1') },
      { content: [codeResult('srvtoolu_1', ['file_A']), text('Done.')], container: container('container_1') },
    )
    const steps = await run({
      model: model(),
      prompt: 'go',
      tools: { code_execution: codeExecutionTool() },
      prepareStep: forwardSandboxContainer,
      stopWhen: isStepCount(5),
    })
    expect(sent(1).container).toBe('container_1')
    expect(sent(1).messages.at(-1).role).toBe('assistant')
    expect(sandboxOutputs(steps)).toEqual({ containerId: 'container_1', fileIds: ['file_A'] })
  })

  test('paused with everything done, the outputs are what there is', async () => {
    endpoint.replyWith({
      content: bash('srvtoolu_1', 'x', ['file_A']),
      stopReason: 'pause_turn',
      container: container('container_1'),
    })
    const steps = await run({ model: model(), prompt: 'go', tools: { code_execution: codeExecutionTool() } })
    expect(steps.at(-1)?.rawFinishReason).toBe('pause_turn')
    expect(sandboxOutputs(steps)).toEqual({ containerId: 'container_1', fileIds: ['file_A'] })
  })

  test('the tool may have any name in tools, and results with hidden output count', async () => {
    endpoint.replyWith({
      content: [codeUse('srvtoolu_1', 'x'), codeResult('srvtoolu_1', ['file_A'], true)],
      container: container('container_1'),
    })
    const steps = await run({ model: model(), prompt: 'go', tools: { sandbox: codeExecutionTool() } })
    expect(sandboxOutputs(steps)).toEqual({ containerId: 'container_1', fileIds: ['file_A'] })
  })

  test('results count though the tool was not declared', async () => {
    endpoint.replyWith({ content: bash('srvtoolu_1', 'x', ['file_A']), container: container('container_1') })
    const steps = await run({ model: model(), prompt: 'go' })
    expect(sandboxOutputs(steps).fileIds).toEqual(['file_A'])
  })

  test('failed commands and views of files leave no files', async () => {
    const failed = (type: string, code: string) => ({ type, error_code: code })
    endpoint.replyWith({
      content: [
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'bash_code_execution', input: { command: 'x' } },
        {
          type: 'bash_code_execution_tool_result',
          tool_use_id: 'srvtoolu_1',
          content: failed('bash_code_execution_tool_result_error', 'output_file_too_large'),
        },
        codeUse('srvtoolu_2', 'x'),
        {
          type: 'code_execution_tool_result',
          tool_use_id: 'srvtoolu_2',
          content: failed('code_execution_tool_result_error', 'unavailable'),
        },
        {
          type: 'server_tool_use',
          id: 'srvtoolu_3',
          name: 'text_editor_code_execution',
          input: { command: 'view', path: '/x' },
        },
        {
          type: 'text_editor_code_execution_tool_result',
          tool_use_id: 'srvtoolu_3',
          content: {
            type: 'text_editor_code_execution_view_result',
            file_type: 'text',
            content: 'file_id: file_X',
            start_line: 1,
            num_lines: 1,
            total_lines: 1,
          },
        },
      ],
      container: container('container_1'),
    })
    const steps = await run({ model: model(), prompt: 'go', tools: { code_execution: codeExecutionTool() } })
    expect(sandboxOutputs(steps)).toEqual({ containerId: 'container_1', fileIds: [] })
  })

  test('a tool of the caller that returns the same shape does not count', async () => {
    endpoint.replyWith(
      {
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'crm', input: { id: '7' } }],
        stopReason: 'tool_use',
      },
      { content: [text('Done.')] },
    )
    const steps = await run({
      model: model(),
      prompt: 'go',
      tools: { crm: crm(() => bashResult('srvtoolu_1', ['file_EVIL']).content) },
      stopWhen: isStepCount(5),
    })
    expect(sandboxOutputs(steps)).toEqual({ containerId: null, fileIds: [] })
  })
})

test('a container that a stream tells in its end counts, told before or not', async () => {
  endpoint.replyWith({ content: [text('x')], container: container('container_1'), containerIn: 'both' })
  const steps = await ways.streamText({ model: model(), prompt: 'go', tools: { code_execution: codeExecutionTool() } })
  expect(sandboxOutputs(steps).containerId).toBe('container_1')
})

test('a container that a stream tells only in its beginning is not known to the AI SDK', async () => {
  const message = { content: [text('x')], container: container('container_1'), containerIn: 'start' as const }
  const options = { model: model(), prompt: 'go', tools: { code_execution: codeExecutionTool() } }
  endpoint.replyWith(message, message)
  expect(sandboxOutputs(await ways.streamText(options)).containerId).toBeNull()
  expect(sandboxOutputs(await ways.generateText(options)).containerId).toBe('container_1')
})
