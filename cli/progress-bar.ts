import type { Writable } from 'node:stream'
import { Presets, SingleBar } from 'cli-progress'
import { formatBytes } from './format.ts'
import type { Progress } from './progress.ts'

/** Progress as a bar, for a terminal. */
export function progressBar(stream: Writable): Progress {
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
