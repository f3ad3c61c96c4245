import { PRICES } from '../cost/prices.ts'

/** What requests cost, in dollars. Deletes are free. */
export function requestCost(used: { readUnits: number; writeUnits: number; lists: number }): number {
  return used.readUnits * PRICES.readUnit + used.writeUnits * PRICES.writeUnit + used.lists * PRICES.s3Write
}
