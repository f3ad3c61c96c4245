import { createHash } from 'node:crypto'
import { ENVIRONMENT } from '../environment.ts'

/**
 * The gateway's own API keys, by which it counts the requests of each caller. Callers never see them: the authorizer
 * names one for each request.
 */
export interface ThrottleSlots {
  /** What their values begin with. */
  prefix: string
  /** How many callers may have one to themselves. There is one more, for callers who are not known. */
  count: number
}

/** Who a request counts for. */
export interface Counted {
  /** Of API keys: how many there were when it was made. */
  number?: number | undefined
  /** Of a user, or of a key that has no number. */
  id: string
}

/** All values: `slotValues(slots)[n]` is that of slot n, the last one of callers who are not known. */
export function slotValues({ prefix, count }: ThrottleSlots): string[] {
  return Array.from({ length: count + 1 }, (_, slot) => slotValue(prefix, slot))
}

/**
 * The value of the slot that a caller's requests count for. API keys take the slots in turn, so that as many keys as
 * there are slots share none; all others are spread by a hash.
 * @param caller not given: nobody who is known
 */
export function slotOf({ prefix, count }: ThrottleSlots, caller: Counted | undefined): string {
  if (!caller) return slotValue(prefix, count)
  const number = caller.number ?? createHash('sha256').update(caller.id).digest().readUInt32BE()
  return slotValue(prefix, number % count)
}

export function slotsToEnvironment({ prefix, count }: ThrottleSlots): Record<string, string> {
  return { [ENVIRONMENT.throttlePrefix]: prefix, [ENVIRONMENT.throttleSlots]: String(count) }
}

/** What `slotsToEnvironment` wrote; undefined where nothing is counted. */
export function slotsFromEnvironment(environment: NodeJS.ProcessEnv): ThrottleSlots | undefined {
  const prefix = environment[ENVIRONMENT.throttlePrefix]
  const count = environment[ENVIRONMENT.throttleSlots]
  return prefix && count ? { prefix, count: Number(count) } : undefined
}

/** API Gateway takes letters and digits, at least 20. */
function slotValue(prefix: string, slot: number): string {
  return `${prefix}${String(slot).padStart(3, '0')}`
}
