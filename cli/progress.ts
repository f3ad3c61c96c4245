import type { Writable } from 'node:stream'
import { Presets, SingleBar } from 'cli-progress'
import { formatBytes } from './format.ts'

/** One stage of work after the other, told on standard error: a bar on a terminal, plain lines elsewhere. */
export interface Progress {
  /** A line, on a terminal or not. */
  note(text: string): void
  /** Starts a stage of `total` steps; a stage before it ends. */
  start(label: string, total: number, unit: 'files' | 'bytes'): void
  /** More steps become known. */
  add(more: number): void
  advance(steps: number): void
  stop(): void
}

/** A stage this small on a stream that is no terminal is not worth a line. */
export function createProgress(stream: Writable, isTerminal: boolean): Progress {
  let bar: SingleBar | null = null
  const stop = () => {
    bar?.stop()
    bar = null
  }
  return {
    note(text) {
      stop()
      stream.write(`${text}\n`)
    },
    start(label, total, unit) {
      stop()
      if (!isTerminal) {
        if (total > 0) stream.write(`${label}: ${unit === 'bytes' ? formatBytes(total) : total}\n`)
        return
      }
      const formatValue = (value: number, _options: unknown, type: string) =>
        unit === 'bytes' && type !== 'percentage' ? formatBytes(value) : String(value)
      const format = `${label} {bar} {percentage}% | {value} of {total}`
      bar = new SingleBar(
        { stream: stream as NodeJS.WriteStream, format, formatValue, clearOnComplete: true },
        Presets.shades_classic,
      )
      bar.start(total, 0)
    },
    add(more) {
      bar?.setTotal(bar.getTotal() + more)
    },
    advance(steps) {
      bar?.increment(steps)
    },
    stop,
  }
}
