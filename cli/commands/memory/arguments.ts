import { UsageError } from '../../errors.ts'

/** @throws UsageError */
export function parseTurn(text: string): number {
  if (/^[0-9]{1,4}$/.test(text)) return Number(text)
  throw new UsageError(`The turn should be a whole number from 0 to 9999, not "${text}".`)
}
