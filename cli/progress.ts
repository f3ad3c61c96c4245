import type { Writable } from 'node:stream'
import { Presets, SingleBar } from 'cli-progress'
import { count, formatBytes } from './format.ts'

/** One stage of work after the other, told on standard error: a bar on a terminal, plain lines elsewhere. */
export interface Progress {
  /** A line, on a terminal or not. */
  note(text: string): void
  /** Starts a stage of `total` steps; a stage before it ends. */
  start(label: string, total: number, unit: 'files' | 'bytes' | 'objects'): void
  /** More steps become known. */
  add(more: number): void
  advance(steps: number): void
  stop(): void
}

export function createProgress(stream: Writable, isTerminal: boolean): Progress {
  let bar: SingleBar | null = null
  let stage: { label: string; amount: (total: number) => string } = { label: '', amount: String }
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
      stage = {
        label,
        amount: unit === 'bytes' ? formatBytes : (number) => count(number, unit === 'files' ? 'file' : 'object'),
      }
      if (!isTerminal) {
        if (total > 0) stream.write(`${label}: ${stage.amount(total)}\n`)
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
      if (bar !== null) bar.setTotal(bar.getTotal() + more)
      else if (more > 0) stream.write(`${stage.label}: ${stage.amount(more)}\n`)
    },
    advance(steps) {
      bar?.increment(steps)
    },
    stop,
  }
}
