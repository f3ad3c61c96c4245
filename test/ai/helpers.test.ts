import { anthropic } from '@ai-sdk/anthropic'
import type { PrepareStepFunction, ToolSet } from 'ai'
import { tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  callableFromSandbox,
  codeExecutionTool,
  forwardSandboxContainer,
  reuseSandbox,
  type SandboxStep,
  sandboxOutputs,
  sandboxUpload,
} from '../../client/ai/index.ts'

const stepWith = (id: unknown): SandboxStep => ({ providerMetadata: { anthropic: { container: { id } } } })

test('the code tool is the newest that the AI SDK can send, whole', () => {
  const made = codeExecutionTool()
  expect(made.id).toBe('anthropic.code_execution_20260120')
  expect(Object.getOwnPropertyNames(made)).toEqual(Object.getOwnPropertyNames(anthropic.tools.codeExecution_20260120()))
})

describe('callableFromSandbox', () => {
  const original = tool({
    inputSchema: z.object({}),
    inputExamples: [{ input: {} }],
    execute: () => 1,
    providerOptions: { anthropic: { deferLoading: true, allowedCallers: ['direct'] }, other: { a: 1 } },
  })

  test('copies, and leaves the tool alone', () => {
    const before = JSON.stringify(original)
    const copy = callableFromSandbox(original)
    expect(copy).not.toBe(original)
    expect(JSON.stringify(original)).toBe(before)
    expect(copy).toMatchObject({
      inputExamples: [{ input: {} }],
      providerOptions: {
        anthropic: { deferLoading: true, allowedCallers: ['direct', 'code_execution_20260120'] },
        other: { a: 1 },
      },
    })
    expect(copy.execute).toBe(original.execute)
    expect(copy.inputSchema).toBe(original.inputSchema)
  })

  test('twice is as once, and frozen tools will do', () => {
    const once = callableFromSandbox(Object.freeze({ ...original }))
    expect(callableFromSandbox(once)).toEqual(once)
  })

  test('takes a tool without provider options, and keeps what is hidden in one of the provider', () => {
    const { providerOptions } = callableFromSandbox(tool({ inputSchema: z.object({}), execute: () => 1 }))
    expect(providerOptions).toEqual({ anthropic: { allowedCallers: ['direct', 'code_execution_20260120'] } })
    const code = codeExecutionTool()
    expect(Object.getOwnPropertyNames(callableFromSandbox(code))).toEqual(
      expect.arrayContaining(Object.getOwnPropertyNames(code)),
    )
  })
})

describe('containers', () => {
  test.each([undefined, null, ''])('a missing id (%j) continues nothing', (id) => {
    expect(reuseSandbox(id)).toBeUndefined()
  })

  test('an id becomes provider options', () => {
    expect(reuseSandbox('container_1')).toEqual({ anthropic: { container: { id: 'container_1' } } })
  })

  test('the newest step that has a container counts', () => {
    const steps = [stepWith('a'), stepWith('b'), { providerMetadata: { anthropic: { container: null } } }, {}]
    expect(forwardSandboxContainer({ steps })).toEqual({ providerOptions: reuseSandbox('b') })
    expect(sandboxOutputs(steps)).toEqual({ containerId: 'b', fileIds: [] })
  })

  test('no steps, no container', () => {
    expect(forwardSandboxContainer({ steps: [] })).toBeUndefined()
    expect(sandboxOutputs([])).toEqual({ containerId: null, fileIds: [] })
  })

  test.each([7, null, {}, ''])('an id that is none (%j) is passed over', (id) => {
    expect(sandboxOutputs([stepWith('a'), stepWith(id)]).containerId).toBe('a')
  })

  test('fits what the AI SDK takes, with exact optional properties', () => {
    const prepareStep: PrepareStepFunction<ToolSet> = forwardSandboxContainer
    expect(prepareStep).toBe(forwardSandboxContainer)
  })
})

describe('sandboxOutputs reads steps of any shape', () => {
  const result = (output: unknown, more: object = { providerExecuted: true }) => [
    { content: [{ type: 'tool-result', toolCallId: '1', toolName: 'x', output, ...more }] },
  ]
  const good = { type: 'code_execution_result', content: [{ type: 'code_execution_output', file_id: 'file_1' }] }

  test('a result that the provider made', () => {
    expect(sandboxOutputs(result(good)).fileIds).toEqual(['file_1'])
  })

  test.each([
    ['made here', good, {}],
    ['said to be made by the provider in words', good, { providerExecuted: 'true' }],
    ['of another type', { ...good, type: 'web_search_result' }, { providerExecuted: true }],
    ['without content', { type: 'code_execution_result' }, { providerExecuted: true }],
    ['null', null, { providerExecuted: true }],
    [
      'with items of other types',
      { ...good, content: [{ type: 'image', file_id: 'x' }, null, 7] },
      { providerExecuted: true },
    ],
    [
      'with an id that is none',
      { ...good, content: [{ type: 'code_execution_output', file_id: 7 }] },
      { providerExecuted: true },
    ],
  ])('not one %s', (_what, output, more) => {
    expect(sandboxOutputs(result(output, more)).fileIds).toEqual([])
  })

  test('not steps without content, nor parts that are none', () => {
    expect(sandboxOutputs([{}, { content: [null, 'x', 7] }]).fileIds).toEqual([])
  })
})

test('sandboxUpload makes the part that copies a file into the container', () => {
  expect(sandboxUpload({ id: 'file_in', filename: 'in put.csv', mime_type: 'text/csv' })).toEqual({
    type: 'file',
    mediaType: 'text/csv',
    filename: 'in put.csv',
    data: { type: 'reference', reference: { anthropic: 'file_in' } },
    providerOptions: { anthropic: { containerUpload: true } },
  })
})
