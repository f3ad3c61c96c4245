/** One line of a benchmark's table. */
export type Row = Record<string, string | number>

/** A number that a benchmark holds the project to. */
export interface Bar {
  name: string
  value: number
  limit: number
  unit: string
  ok: boolean
}

export interface BenchResult {
  rows: Row[]
  bars: Bar[]
}

/** A benchmark: one file of this folder. */
export type Bench = () => Promise<BenchResult>

/** A bar that is met by a value of at most `limit`. */
export function atMost(name: string, value: number, limit: number, unit: string): Bar {
  return { name, value: rounded(value), limit: rounded(limit), unit, ok: value <= limit }
}

/** The middle value, or the mean of the two in the middle. @throws Error for no values */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  if (upper === undefined || lower === undefined) throw new Error('There is no median of no values.')
  return (lower + upper) / 2
}

/** How long the work takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Medians in milliseconds, and the median of the pairs' ratios. */
export interface Pair {
  measured: number
  bare: number
  ratio: number
}

/**
 * Measures two works turn by turn, so that whatever else the machine does falls on both. Each tells its own time in
 * milliseconds. The ratio is taken within each turn. The first `warmup` turns do not count.
 */
export async function pairOf(
  works: { measured: (turn: number) => Promise<number>; bare: (turn: number) => Promise<number> },
  { turns, warmup }: { turns: number; warmup: number },
): Promise<Pair> {
  const times: Array<{ measured: number; bare: number }> = []
  for (let turn = 0; turn < warmup + turns; turn++) {
    const measured = await works.measured(turn)
    const bare = await works.bare(turn)
    if (turn >= warmup) times.push({ measured, bare })
  }
  return {
    measured: median(times.map((time) => time.measured)),
    bare: median(times.map((time) => time.bare)),
    ratio: median(times.map((time) => time.measured / time.bare)),
  }
}

/** As `pairOf`, of works that are timed here. */
export function pair(
  { measured, bare }: { measured: (turn: number) => Promise<unknown>; bare: (turn: number) => Promise<unknown> },
  counts: { turns: number; warmup: number },
): Promise<Pair> {
  return pairOf({ measured: (turn) => timed(() => measured(turn)), bare: (turn) => timed(() => bare(turn)) }, counts)
}

/** Three significant digits where there is a fraction. */
export function rounded(value: number): number {
  return Number.isInteger(value) ? value : Number(Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3))
}

/** A table as text: a column for each name that a row has, in the order of their coming; numbers to the right. */
export function table(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = rows.map((row) => columns.map((column) => cell(row[column])))
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...cells.map((line) => line[index]?.length ?? 0)),
  )
  const line = (texts: readonly string[], row?: Row) =>
    texts
      .map((text, index) => {
        const width = widths[index] ?? 0
        return typeof row?.[columns[index] ?? ''] === 'number' ? text.padStart(width) : text.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  return [
    line(columns),
    line(widths.map((width) => '-'.repeat(width))),
    ...cells.map((texts, index) => line(texts, rows[index])),
  ].join('\n')
}

function cell(value: string | number | undefined): string {
  if (value === undefined) return ''
  return typeof value === 'number' ? rounded(value).toLocaleString('en-US', { maximumSignificantDigits: 12 }) : value
}
