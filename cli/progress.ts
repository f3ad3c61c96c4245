import type { Writable } from 'node:stream'
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

type Unit = Parameters<Progress['start']>[2]

export async function createProgress(stream: Writable, isTerminal: boolean): Promise<Progress> {
  if (!isTerminal) return progressLines(stream)
  // Loaded only where it shows.
  const { progressBar } = await import('./progress-bar.ts')
  return progressBar(stream)
}

/** Only the notes, for where something else has the terminal. */
export function quietProgress(note: (text: string) => void): Progress {
  const nothing = () => undefined
  return { note, start: nothing, add: nothing, advance: nothing, stop: nothing }
}

function progressLines(stream: Writable): Progress {
  let stage: { label: string; unit: Unit } = { label: '', unit: 'files' }
  const write = (steps: number) => {
    if (steps > 0) stream.write(`${stage.label}: ${amount(steps, stage.unit)}\n`)
  }
  return {
    note: (text) => stream.write(`${text}\n`),
    start(label, total, unit) {
      stage = { label, unit }
      write(total)
    },
    add: write,
    advance: () => undefined,
    stop: () => undefined,
  }
}

function amount(steps: number, unit: Unit): string {
  return unit === 'bytes' ? formatBytes(steps) : count(steps, unit === 'files' ? 'file' : 'object')
}
