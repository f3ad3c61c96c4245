import { UsageError } from './errors.ts'

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of `0s`, `90m`, `24h`, `7d`. @throws UsageError naming the option */
export function parseDuration(option: string, text: string): number {
  const [, number = '', unit = ''] = /^([0-9]+)([smhd])$/.exec(text) ?? []
  const milliseconds = Number(number) * (UNIT_MS[unit] ?? Number.NaN)
  if (Number.isSafeInteger(milliseconds)) return milliseconds
  throw new UsageError(`${option} should be a number with s, m, h or d, such as 0s, 90m, 24h or 7d, not "${text}".`)
}
