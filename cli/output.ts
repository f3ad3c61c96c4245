import type { Writable } from 'node:stream'

/** Results, and nothing else, on standard output: as lines for people or as one JSON value. */
export interface Output {
  /** @param value a `JsonText` where a parsed value would lose something */
  result(value: unknown, lines: () => readonly string[]): Promise<void>
  /** A result that is text or bytes itself, as it is. */
  text(chunk: string | Uint8Array): Promise<void>
}

/** JSON as text. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** How many lines are joined before they are written: a checkpoint may have a hundred thousand. */
const LINES_PER_WRITE = 1_000

export function createOutput(stream: Writable, json: boolean): Output {
  return {
    async result(value, lines) {
      if (json) {
        await write(stream, `${value instanceof JsonText ? value.text : JSON.stringify(value)}\n`)
        return
      }
      const all = lines()
      for (let start = 0; start < all.length; start += LINES_PER_WRITE) {
        await write(stream, `${all.slice(start, start + LINES_PER_WRITE).join('\n')}\n`)
      }
    },
    text: (chunk) => write(stream, chunk),
  }
}

function write(stream: Writable, text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** Rows as columns, padded to the widest cell; the last column is left as it is. */
export function table(rows: ReadonlyArray<readonly string[]>): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  }
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}
