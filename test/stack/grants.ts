import type { Template } from 'aws-cdk-lib/assertions'
import { resources } from './synth.ts'

export interface Statement {
  Effect: string
  Action: string | string[]
  Resource: unknown
}

/** What a function's role may do, by resource: `table`, `bucket`, `bucket/PREFIX*`, `logs`, or a function's name. */
export function grants(template: Template, service: string): Record<string, string[]> {
  const found = resources(template, 'AWS::Lambda::Function').find(
    ([, { Metadata }]) => Metadata['sandkeep:function'] === service,
  )
  const role = found?.[1].Properties.Role['Fn::GetAtt'][0]
  const statements = resources(template, 'AWS::IAM::Policy')
    .filter(([, { Properties }]) => Properties.Roles.some((of: { Ref: string }) => of.Ref === role))
    .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[])
  const granted: Record<string, string[]> = {}
  for (const { Action, Resource } of statements) {
    for (const name of [Resource].flat().map((resource) => named(template, resource))) {
      granted[name] = [...(granted[name] ?? []), ...[Action].flat()]
    }
  }
  return granted
}

function named(template: Template, resource: unknown): string {
  const [table] = Object.keys(template.findResources('AWS::DynamoDB::Table'))
  const [bucket] = Object.keys(template.findResources('AWS::S3::Bucket'))
  const functions = resources(template, 'AWS::Lambda::Function')
  const called = functions.find(([id]) => JSON.stringify(resource) === `{"Fn::GetAtt":["${id}","Arn"]}`)
  if (called) return String(called[1].Metadata['sandkeep:function'])
  return JSON.stringify(resource)
    .replace(`{"Fn::GetAtt":["${table}","Arn"]}`, 'table')
    .replace(`{"Fn::GetAtt":["${bucket}","Arn"]}`, 'bucket')
    .replace(/^\{"Fn::Join":\["",\[bucket,"(.*)"\]\]\}$/, 'bucket$1')
    .replace(/^\{"Fn::GetAtt":\["\w+Logs\w+","Arn"\]\}$/, 'logs')
}
