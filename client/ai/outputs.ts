import type { FilePart } from 'ai'
import { lastContainerId, property, type SandboxStep } from './container.ts'
import type { SandboxFile } from './types.ts'

const RESULT_TYPES: ReadonlySet<unknown> = new Set([
  'bash_code_execution_result',
  'code_execution_result',
  'encrypted_code_execution_result',
])
const OUTPUT_TYPES: ReadonlySet<unknown> = new Set(['bash_code_execution_output', 'code_execution_output'])

/** The part of a message that copies an uploaded file into the container. */
export function sandboxUpload(file: Pick<SandboxFile, 'id' | 'filename' | 'mime_type'>): FilePart {
  return {
    type: 'file',
    mediaType: file.mime_type,
    filename: file.filename,
    data: { type: 'reference', reference: { anthropic: file.id } },
    providerOptions: { anthropic: { containerUpload: true } },
  }
}

/**
 * What completed steps left behind: the container to go on with, and the ids of the files that code in it made, each
 * once, in the order of their appearance. Drain a stream before you read its steps. Steps kept as JSON do as well.
 */
export function sandboxOutputs(steps: readonly SandboxStep[]): { containerId: string | null; fileIds: string[] } {
  const parts = steps.flatMap(({ content }) => content ?? [])
  return { containerId: lastContainerId(steps), fileIds: [...new Set(parts.flatMap(fileIdsOf))] }
}

/**
 * The files of one result. A call and its result may stand in different steps, and the tool may have any name: what
 * counts is that the provider ran it, which no tool of the caller's own can claim.
 */
function fileIdsOf(part: unknown): string[] {
  const output = property(part, 'output')
  const content = property(output, 'content')
  const isResult =
    property(part, 'type') === 'tool-result' &&
    property(part, 'providerExecuted') === true &&
    RESULT_TYPES.has(property(output, 'type'))
  if (!isResult || !Array.isArray(content)) return []
  return content
    .filter((item) => OUTPUT_TYPES.has(property(item, 'type')))
    .map((item) => property(item, 'file_id'))
    .filter((id) => typeof id === 'string')
}
