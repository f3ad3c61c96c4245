import { expect, test } from 'vitest'
import { readApi } from '../../local/gateway/read-api.ts'
import type { Template } from '../../local/gateway/template.ts'
import { resources, synth } from './synth.ts'

const template = synth()
const api = readApi(template.toJSON() as Template)

const integrations = resources(template, 'AWS::ApiGateway::Method')
  .map(([, { Properties }]) => Properties.Integration)
  .filter(({ Type }) => Type === 'AWS_PROXY')
const streamed = integrations.filter(({ ResponseTransferMode }) => ResponseTransferMode !== undefined)

/** The URI that an integration's parts join to, with names in place of what only a deployment knows. */
function uriOf({ Uri }: (typeof integrations)[number]): string {
  return Uri['Fn::Join'][1].map((part: unknown) => (typeof part === 'string' ? part : '*')).join('')
}

test('a streamed integration invokes its function for a stream, and the others do not', () => {
  expect(streamed.length).toBeGreaterThan(0)
  for (const integration of integrations) {
    expect(uriOf(integration)).toBe(
      streamed.includes(integration)
        ? 'arn:*:apigateway:*:lambda:path/2021-11-15/functions/*/response-streaming-invocations'
        : 'arn:*:apigateway:*:lambda:path/2015-03-31/functions/*/invocations',
    )
  }
})

test('API Gateway lets a streamed answer pause for 5 minutes', () => {
  expect(api.streamIdleMs).toBe(300_000)
})
