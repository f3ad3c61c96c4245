/** What a terminal could take as a command, or what reads differently than it looks. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/gu

/** Text from outside (names, labels, messages) as one safe line: control and direction characters are escaped. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    if (character === '\n') return '\\n'
    if (character === '\r') return '\\r'
    if (character === '\t') return '\\t'
    return `\\u{${character.charCodeAt(0).toString(16)}}`
  })
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
