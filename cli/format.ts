/** What a terminal could take as a command, or what reads differently than it looks. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu

/** The longest path that a message holds in full. */
const MAX_PATH = 200

/**
 * A value from outside (names, labels, messages) as one safe line: control, direction and invisible characters are
 * escaped, and what is not a text stands as JSON.
 */
export function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return text.replace(UNPRINTABLE, (character) => {
    if (character === '\n') return '\\n'
    if (character === '\r') return '\\r'
    if (character === '\t') return '\\t'
    return `\\u{${character.codePointAt(0)?.toString(16)}}`
  })
}

/** A path or a link target for a message: printable, and without its middle when it has more than 200 characters. */
export function printablePath(path: unknown): string {
  const text = [...printable(path)]
  if (text.length <= MAX_PATH) return text.join('')
  const half = Math.floor(MAX_PATH / 2)
  return `${text.slice(0, half).join('')}\u2026${text.slice(-half + 1).join('')}`
}

const UNITS = ['kB', 'MB', 'GB', 'TB'] as const

/** A number of bytes for people, in powers of 1,000: `999 B`, `1.2 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  let value = bytes
  let unit = 'B'
  for (const next of UNITS) {
    if (value < 999.95) break
    value /= 1_000
    unit = next
  }
  return `${value.toFixed(1)} ${unit}`
}

/** `1 file`, `5,000 files`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`
}

/** RFC 3339 with milliseconds; null for a number that is no time of the calendar. */
export function isoTime(milliseconds: number): string | null {
  const date = new Date(milliseconds)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

/** Permission bits as `ls` prints them in numbers: `644`, `755`; `-` when they were not recorded. */
export function formatMode(mode: number | undefined): string {
  return mode === undefined ? '-' : mode.toString(8).padStart(3, '0')
}
