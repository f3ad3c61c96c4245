/** The ids that an answer of the Messages API hands out. */
export interface ResponseIds {
  containers: string[]
  files: string[]
}

/**
 * The ids in an answer, or in one event of a streamed one. They are read where the API puts them and nowhere else: the
 * input of a tool is the model's own text, in which a caller could have any id be written.
 */
export function readResponseIds(value: unknown): ResponseIds {
  const message = property(value, 'message')
  const holders = [value, message, property(value, 'delta')]
  const blocks = [property(value, 'content'), property(message, 'content'), [property(value, 'content_block')]]
  return {
    containers: holders.map((holder) => property(property(holder, 'container'), 'id')).filter(isText),
    files: blocks.flatMap((list) => (Array.isArray(list) ? list.flatMap(fileIdsOf) : [])).filter(isText),
  }
}

function fileIdsOf(block: unknown): unknown[] {
  const type = property(block, 'type')
  if (type === 'container_upload') return [property(block, 'file_id')]
  if (!isText(type) || !type.endsWith('code_execution_tool_result')) return []
  const outputs = property(property(block, 'content'), 'content')
  return Array.isArray(outputs) ? outputs.map((output) => property(output, 'file_id')) : []
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
