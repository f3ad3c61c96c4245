import type { KeyModel, LimitModel, ThrottlingModel } from './model.ts'
import { asRecord, referencedId, resourcesOfType, stringProperty, type Template } from './template.ts'

/** How many requests the stage takes, of all and of each API key. @throws Error when there are quotas */
export function readThrottling(template: Template): ThrottlingModel {
  const stage = readStageLimit(template)
  return { ...(stage && { stage }), keys: readKeys(template) }
}

/** The setting for all methods. */
function readStageLimit(template: Template): LimitModel | undefined {
  const [stage] = resourcesOfType(template, 'AWS::ApiGateway::Stage')
  const settings = [stage?.[1].Properties?.MethodSettings ?? []].flat().map(asRecord)
  const all = settings.find(({ HttpMethod, ResourcePath }) => HttpMethod === '*' && ResourcePath === '/*')
  return readLimit(all?.ThrottlingRateLimit, all?.ThrottlingBurstLimit)
}

/** Keys that are in a plan and enabled: others count as unknown. */
function readKeys(template: Template): Map<string, KeyModel> {
  const plans = new Map(resourcesOfType(template, 'AWS::ApiGateway::UsagePlan'))
  const keys = new Map(resourcesOfType(template, 'AWS::ApiGateway::ApiKey'))
  const byValue = new Map<string, KeyModel>()
  for (const [, { Properties }] of resourcesOfType(template, 'AWS::ApiGateway::UsagePlanKey')) {
    const id = referencedId(Properties?.KeyId) ?? ''
    const plan = plans.get(referencedId(Properties?.UsagePlanId) ?? '')?.Properties
    const key = keys.get(id)
    const { RateLimit, BurstLimit } = asRecord(plan?.Throttle)
    const limit = readLimit(RateLimit, BurstLimit)
    if (!limit || !key || plan?.Quota)
      throw new Error('The gateway takes usage plans with a throttle and no quota only.')
    if (key.Properties?.Enabled === true) byValue.set(stringProperty(key, 'Value'), { id, limit })
  }
  return byValue
}

function readLimit(rate: unknown, burst: unknown): LimitModel | undefined {
  return typeof rate === 'number' && typeof burst === 'number' ? { rateLimit: rate, burstLimit: burst } : undefined
}
