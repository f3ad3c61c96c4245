import { anthropic } from '@ai-sdk/anthropic'
import type { Tool } from 'ai'

const CODE_EXECUTION = 'code_execution_20260120'

/**
 * Claude's hosted sandbox, for `tools` as `code_execution`. A container starts when Claude uses it. Give the tool as it
 * is: a copy by spread loses what the AI SDK hides in it.
 */
export function codeExecutionTool(): ReturnType<typeof anthropic.tools.codeExecution_20260120> {
  return anthropic.tools.codeExecution_20260120()
}

/**
 * A copy of a tool that Claude can call directly or from code in its sandbox. `execute` runs where it ran before. The
 * tool itself is left alone. Anthropic does not take `strict` on such a tool.
 */
export function callableFromSandbox<T extends Tool>(tool: T): T {
  // `Tool` is a union, of whose options TypeScript does not see that all have the same type.
  const { providerOptions = {} }: Pick<Tool, 'providerOptions'> = tool
  const value = {
    ...providerOptions,
    anthropic: { ...providerOptions.anthropic, allowedCallers: ['direct', CODE_EXECUTION] },
  }
  return Object.create(Object.getPrototypeOf(tool), {
    ...Object.getOwnPropertyDescriptors(tool),
    providerOptions: { value, enumerable: true, writable: true, configurable: true },
  })
}
