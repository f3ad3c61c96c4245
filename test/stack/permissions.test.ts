import { expect, test } from 'vitest'
import { resources, synth } from './synth.ts'

const template = synth()
const [table] = Object.keys(template.findResources('AWS::DynamoDB::Table'))
const [bucket] = Object.keys(template.findResources('AWS::S3::Bucket'))

interface Statement {
  Effect: string
  Action: string | string[]
  Resource: unknown
}

/** What a function's role may do, by resource. */
function grants(service: string): Record<string, string[]> {
  const found = resources(template, 'AWS::Lambda::Function').find(
    ([, { Metadata }]) => Metadata['sandkeep:function'] === service,
  )
  const role = found?.[1].Properties.Role['Fn::GetAtt'][0]
  const statements = resources(template, 'AWS::IAM::Policy')
    .filter(([, { Properties }]) => Properties.Roles.some((of: { Ref: string }) => of.Ref === role))
    .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[])
  const pairs = statements.flatMap(({ Action, Resource }) =>
    [Resource].flat().map((resource) => [named(resource), [Action].flat()] as const),
  )
  return Object.fromEntries(pairs)
}

function named(resource: unknown): string {
  return JSON.stringify(resource)
    .replace(`{"Fn::GetAtt":["${table}","Arn"]}`, 'table')
    .replace(`{"Fn::GetAtt":["${bucket}","Arn"]}`, 'bucket')
    .replace(/^\{"Fn::Join":\["",\[bucket,"(.*)"\]\]\}$/, 'bucket$1')
    .replace(/^\{"Fn::GetAtt":\["\w+Logs\w+","Arn"\]\}$/, 'logs')
}

const logs = ['logs:CreateLogStream', 'logs:PutLogEvents']
const dynamodb = (...actions: string[]) => actions.map((action) => `dynamodb:${action}`)
const objects = ['s3:DeleteObject', 's3:GetObject', 's3:PutObject']
const items = dynamodb('BatchGetItem', 'ConditionCheckItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem')

test.for([
  ['authorizer', { logs, table: dynamodb('GetItem') }],
  [
    'checkpoints',
    {
      logs,
      table: items,
      'bucket/blobs/*': objects,
      'bucket/bodies/*': objects,
      'bucket/staging/*': objects,
      bucket: ['s3:ListBucket'],
    },
  ],
  ['instances', { logs, table: dynamodb('DeleteItem', 'GetItem', 'PutItem') }],
  ['keys', { logs, table: dynamodb('GetItem', 'PutItem', 'Query', 'UpdateItem') }],
  [
    'sweep',
    {
      logs,
      table: items,
      'bucket/blobs/*': ['s3:DeleteObject'],
      'bucket/bodies/*': ['s3:DeleteObject'],
      bucket: ['s3:ListBucket'],
    },
  ],
] as const)('the function %s may do just what it does', ([service, expected]) => {
  expect(grants(service)).toEqual(expected)
})

test('no policy has an action or a resource that is everything', () => {
  for (const [, { Properties }] of resources(template, 'AWS::IAM::Policy')) {
    for (const { Action, Resource } of Properties.PolicyDocument.Statement as Statement[]) {
      for (const action of [Action].flat()) expect(action).not.toContain('*')
      for (const resource of [Resource].flat()) expect(resource).not.toBe('*')
    }
  }
})

test('no function has a managed policy, and each has a role of its own', () => {
  const roles = resources(template, 'AWS::Lambda::Function').map(
    ([, { Properties }]) => Properties.Role['Fn::GetAtt'][0],
  )
  expect(new Set(roles).size).toBe(5)
  for (const [id, { Properties }] of resources(template, 'AWS::IAM::Role')) {
    if (roles.includes(id)) expect(Properties.ManagedPolicyArns).toBeUndefined()
  }
})
