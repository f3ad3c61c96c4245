import { expect, test } from 'vitest'
import { slotsFromEnvironment, slotValues } from '../../src/keys/throttle-slots.ts'
import { only, resources, synth } from './synth.ts'

const template = synth()
const values = resources(template, 'AWS::ApiGateway::ApiKey').map(([, { Properties }]) => Properties.Value as string)
const plan = only(template, 'AWS::ApiGateway::UsagePlan').Properties

test('the gateway counts 25 callers each alone, and one more for who is not known', () => {
  expect(new Set(values).size).toBe(26)
  expect(resources(template, 'AWS::ApiGateway::UsagePlanKey')).toHaveLength(26)
  // What API Gateway takes.
  for (const value of values) expect(value).toMatch(/^[A-Za-z0-9]{20,128}$/)
})

test('the authorizer knows the values', () => {
  const [, authorizer] = resources(template, 'AWS::Lambda::Function').find(
    ([, { Metadata }]) => Metadata['sandkeep:function'] === 'authorizer',
  ) ?? [undefined, { Properties: undefined }]
  const slots = slotsFromEnvironment(authorizer.Properties.Environment.Variables)
  expect(slots && slotValues(slots)).toEqual(values)
})

test('the authorizer names the key, and no header does', () => {
  expect(only(template, 'AWS::ApiGateway::RestApi').Properties.ApiKeySourceType).toBe('AUTHORIZER')
})

test('each method behind the authorizer needs a key, and no other does', () => {
  const methods = resources(template, 'AWS::ApiGateway::Method').map(([, { Properties }]) => Properties)
  for (const { AuthorizationType, ApiKeyRequired = false } of methods) {
    expect(ApiKeyRequired).toBe(AuthorizationType === 'CUSTOM')
  }
})

test('a caller may do half of what the whole API takes, or what the property says', () => {
  expect(plan.Throttle).toEqual({ RateLimit: 250, BurstLimit: 500 })
  const throttling = { rateLimit: 20, burstLimit: 30, perKey: { rateLimit: 3, burstLimit: 4 }, slots: 2 }
  const other = synth({ throttling })
  expect(only(other, 'AWS::ApiGateway::UsagePlan').Properties.Throttle).toEqual({ RateLimit: 3, BurstLimit: 4 })
  expect(resources(other, 'AWS::ApiGateway::ApiKey')).toHaveLength(3)
})

test.each([
  [{ rateLimit: 1, burstLimit: 1, perKey: { rateLimit: 2, burstLimit: 1 } }, 'perKey'],
  [{ rateLimit: 1, burstLimit: 1, slots: 0 }, 'slots'],
  [{ rateLimit: 1, burstLimit: 1, slots: 101 }, 'slots'],
])('limits that make no sense are refused: %j', (throttling, name) => {
  expect(() => synth({ throttling })).toThrow(`throttling.${name}`)
})
