/** Public prices of us-east-1, in dollars a request or unit. Deletes are free. */
const PRICES = {
  readUnit: 0.125e-6,
  writeUnit: 0.625e-6,
  list: 5e-6,
} as const

/** What requests cost, in dollars. */
export function requestCost(used: { readUnits: number; writeUnits: number; lists: number }): number {
  return used.readUnits * PRICES.readUnit + used.writeUnits * PRICES.writeUnit + used.lists * PRICES.list
}
