import { createHash } from 'node:crypto'
import { Stack, Token } from 'aws-cdk-lib'
import { ApiKey, type Stage, UsagePlan } from 'aws-cdk-lib/aws-apigateway'
import { Construct } from 'constructs'
import { slotValues, type ThrottleSlots } from '../src/keys/throttle-slots.ts'

/** How many requests are taken. */
export interface RequestLimits {
  /** How many a second, in the long run. */
  readonly rateLimit: number
  /** How many at once. */
  readonly burstLimit: number
}

/** How many requests the whole API takes. */
export interface Throttling extends RequestLimits {
  /**
   * How many it takes of each caller: of an API key, or of a user with a token alone.
   * @default half of what the whole API takes
   */
  readonly perKey?: RequestLimits
  /**
   * How many callers are counted each alone, 1 to 100. Of more, some share what one may. Each is two resources of the
   * stack, which may have 500: with 100 slots Sandkeep alone has nearly as many, and needs a stack of its own.
   * @default 25
   */
  readonly slots?: number
}

export const STANDARD_THROTTLING: Throttling = { rateLimit: 500, burstLimit: 1_000 }

const STANDARD_SLOTS = 25
const MAX_SLOTS = 100

/** @throws Error when a caller may do more than all together */
export function limitsPerKey({ rateLimit, burstLimit, perKey }: Throttling): RequestLimits {
  if (!perKey) return { rateLimit: rateLimit / 2, burstLimit: Math.ceil(burstLimit / 2) }
  if (perKey.rateLimit > rateLimit || perKey.burstLimit > burstLimit) {
    throw new Error('throttling.perKey: no caller may do more than the whole API takes.')
  }
  return perKey
}

/**
 * The slots of a stack. Their values have to differ from those of all other stacks of the account, and stay the same.
 * @throws Error when there are too few or too many
 */
export function throttleSlots(scope: Construct, { slots = STANDARD_SLOTS }: Pick<Throttling, 'slots'>): ThrottleSlots {
  if (!Number.isInteger(slots) || slots < 1 || slots > MAX_SLOTS) {
    throw new Error(`throttling.slots must be a whole number from 1 to ${MAX_SLOTS}.`)
  }
  const { stackName } = Stack.of(scope)
  const place = [Token.isUnresolved(stackName) ? '' : stackName, scope.node.path].join('/')
  return { prefix: `sandkeep${createHash('sha256').update(place).digest('hex').slice(0, 32)}x`, count: slots }
}

export interface CallerThrottlingProps {
  readonly stage: Stage
  /** Of each caller. */
  readonly limits: RequestLimits
  readonly slots: ThrottleSlots
}

/**
 * Has the gateway count the requests of each caller, by API keys of its own in one usage plan. Their values are no
 * secrets: they are good for nothing but to be counted by, and the gateway takes them from the authorizer alone.
 */
export class CallerThrottling extends Construct {
  constructor(scope: Construct, id: string, { stage, limits, slots }: CallerThrottlingProps) {
    super(scope, id)
    const plan = new UsagePlan(this, 'Plan', {
      description: 'What one caller of Sandkeep may do.',
      throttle: limits,
      apiStages: [{ api: stage.restApi, stage }],
    })
    for (const [slot, value] of slotValues(slots).entries()) {
      plan.addApiKey(new ApiKey(this, `Slot${slot}`, { value, description: 'Counts requests. It opens nothing.' }))
    }
  }
}
