/** Whole events of a stream of server-sent events. */
export interface EventBatch {
  /** As they came. */
  bytes: Buffer
  /** The data of each event, its lines joined. */
  data: string[]
}

/** The largest event: more than any answer of the API has in one. */
const MAX_EVENT_BYTES = 33_554_432

/** The longest end of an event: a line feed, and an empty line. */
const END_LENGTH = 3

/**
 * Cuts the bytes of a stream behind whole events, wherever the chunks end. All bytes come out again, in their order;
 * what stands behind the last whole event comes last.
 *
 * Lines may end in other ways than in a line feed, and who reads the stream may see an end of an event where this sees
 * none. That does no harm: nothing comes out before all data in it has been read.
 * @throws Error for an event of more than 32 MiB
 */
export async function* eventBatches(chunks: AsyncIterable<Buffer>): AsyncGenerator<EventBatch> {
  let held: Buffer[] = []
  let size = 0
  // An end of an event may begin in one chunk and end in the next.
  let before: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const searched = Buffer.concat([before, chunk])
    const cut = lastEnd(searched) - before.length
    before = searched.subarray(-END_LENGTH)
    if (cut > 0) {
      yield batch(Buffer.concat([...held, chunk.subarray(0, cut)]))
      held = []
      size = 0
    }
    const rest = chunk.subarray(Math.max(cut, 0))
    if (rest.length === 0) continue
    held.push(rest)
    size += rest.length
    if (size > MAX_EVENT_BYTES) throw new Error('An event of the stream is too long.')
  }
  if (size > 0) yield batch(Buffer.concat(held))
}

/** Where the last whole event ends; 0 when none does. */
function lastEnd(bytes: Buffer): number {
  const lf = bytes.lastIndexOf('\n\n')
  const crlf = bytes.lastIndexOf('\n\r\n')
  return Math.max(lf < 0 ? 0 : lf + 2, crlf < 0 ? 0 : crlf + 3)
}

function batch(bytes: Buffer): EventBatch {
  const data: string[] = []
  let lines: string[] = []
  for (const line of [
    ...bytes
      .toString()
      .replace(/^\ufeff/, '')
      .split(/\r\n|\n|\r/),
    '',
  ]) {
    if (line === '') {
      if (lines.length > 0) data.push(lines.join('\n'))
      lines = []
    } else if (line.startsWith('data:')) lines.push(line.slice(line.startsWith('data: ') ? 6 : 5))
  }
  return { bytes, data }
}
