import type { LambdaStreamHandler } from '../../local/gateway/index.ts'
import { isRecord, type Template } from '../../local/gateway/template.ts'
import { freshTemplate, testGateway } from './harness.ts'

export const STREAM_PATH = '/sandbox/instances/v1/get'

type Stream = Parameters<LambdaStreamHandler>[1]

/** A template in which the function of the instances streams its answers. */
export function streamTemplate(changes: Record<string, unknown> = {}): Template {
  const template = freshTemplate()
  const [functionId] =
    Object.entries(template.Resources).find(([, { Metadata }]) => Metadata?.['sandkeep:function'] === 'instances') ?? []
  for (const { Type, Properties } of Object.values(template.Resources)) {
    const integration = Properties?.Integration
    if (Type !== 'AWS::ApiGateway::Method' || !isRecord(integration)) continue
    if (!JSON.stringify(integration.Uri ?? null).includes(`"${functionId}"`)) continue
    const uri = JSON.stringify(integration.Uri).replace('/invocations', '/response-streaming-invocations')
    Object.assign(integration, {
      Uri: JSON.parse(uri),
      ResponseTransferMode: 'STREAM',
      TimeoutInMillis: 900_000,
      ...changes,
    })
  }
  return template
}

/** A gateway of which `STREAM_PATH` is answered by the handler. */
export function streamGateway(
  handler: LambdaStreamHandler,
  options: { template?: Template; onError?: (error: unknown) => void } = {},
): Promise<string> {
  return testGateway({}, { template: streamTemplate(), ...options, streamHandlers: { instances: handler } })
}

/** Begins an answer as a handler does. */
export function begin(stream: Stream, head: unknown = { statusCode: 200, headers: { 'content-type': 'text/plain' } }) {
  stream.setContentType('application/vnd.awslambda.http-integration-response')
  stream.write(JSON.stringify(head))
  stream.write(new Uint8Array(8))
}
