import { expect, test } from 'vitest'
import { grants, type Statement } from './grants.ts'
import { resources, synth } from './synth.ts'

const template = synth()
const logs = ['logs:CreateLogStream', 'logs:PutLogEvents']
const dynamodb = (...actions: string[]) => actions.map((action) => `dynamodb:${action}`)
const objects = ['s3:DeleteObject', 's3:GetObject', 's3:PutObject']
const items = dynamodb('BatchGetItem', 'ConditionCheckItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem')

test.for([
  ['anthropic', { logs, table: dynamodb('BatchGetItem', 'PutItem', 'Query', 'UpdateItem') }],
  ['authorizer', { logs, table: dynamodb('GetItem') }],
  [
    'bundles',
    {
      logs,
      table: dynamodb('GetItem', 'UpdateItem'),
      'bucket/blobs/*': ['s3:GetObject'],
      'bucket/bodies/*': ['s3:GetObject'],
      'bucket/bundles/*': ['s3:GetObject', 's3:PutObject'],
      bucket: ['s3:ListBucket'],
    },
  ],
  [
    'checkpoints',
    {
      logs,
      table: items,
      'bucket/blobs/*': ['s3:DeleteObjectVersion', 's3:GetObject', 's3:PutObject'],
      'bucket/bodies/*': objects,
      'bucket/staging/*': ['s3:GetObject', 's3:PutObject'],
      bucket: ['s3:ListBucket', 's3:ListBucketVersions'],
      sweep: ['lambda:InvokeFunction'],
    },
  ],
  [
    'file-content',
    {
      logs,
      table: dynamodb('DeleteItem', 'GetItem'),
      'bucket/files/*': ['s3:GetObject'],
      bucket: ['s3:ListBucket'],
    },
  ],
  [
    'files',
    {
      logs,
      table: dynamodb('DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
      'bucket/files/*': objects,
      bucket: ['s3:ListBucket'],
    },
  ],
  ['instances', { logs, table: dynamodb('DeleteItem', 'GetItem', 'PutItem') }],
  ['keys', { logs, table: dynamodb('GetItem', 'PutItem', 'Query', 'UpdateItem') }],
  [
    'memory',
    {
      logs,
      table: dynamodb('BatchGetItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
      'bucket/projects/*': objects,
      'bucket/staging/*': ['s3:GetObject', 's3:PutObject'],
      bucket: ['s3:ListBucket'],
    },
  ],
  ['openapi', { logs }],
  ['project-md', { logs, table: dynamodb('BatchGetItem', 'Query') }],
  [
    'sandboxes',
    {
      logs,
      table: dynamodb('BatchGetItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
      'bucket/blobs/*': ['s3:GetObject'],
      'bucket/bundles/*': ['s3:GetObject'],
      'bucket/bodies/*': objects,
      'bucket/staging/*': ['s3:GetObject', 's3:PutObject'],
      bucket: ['s3:ListBucket'],
      bundles: ['lambda:InvokeFunction'],
    },
  ],
  [
    'sweep',
    {
      logs,
      table: dynamodb('DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
      'bucket/blobs/*': ['s3:DeleteObjectVersion'],
      'bucket/bodies/*': ['s3:DeleteObjectVersion', 's3:DeleteObject', 's3:GetObject'],
      'bucket/bundles/*': ['s3:DeleteObjectVersion', 's3:GetObject'],
      'bucket/files/*': ['s3:DeleteObject'],
      'bucket/projects/*': ['s3:DeleteObject'],
      'bucket/staging/*': ['s3:DeleteObjectVersion'],
      bucket: ['s3:ListBucket', 's3:ListBucketVersions'],
      sweep: ['lambda:InvokeFunction'],
    },
  ],
] as const)('the function %s may do just what it does', ([service, expected]) => {
  expect(grants(template, service)).toEqual(expected)
})

test('no policy has an action or a resource that is everything, but where AWS has no other way', () => {
  const policies = [template, synth({ tracing: true })].flatMap((each) => resources(each, 'AWS::IAM::Policy'))
  for (const [, { Properties }] of policies) {
    for (const { Action, Resource } of Properties.PolicyDocument.Statement as Statement[]) {
      const actions = [Action].flat()
      for (const action of actions) expect(action).not.toContain('*')
      // X-Ray knows no resources.
      if (actions.every((action) => action.startsWith('xray:'))) continue
      for (const resource of [Resource].flat()) expect(resource).not.toBe('*')
    }
  }
})

test('no function has a managed policy, and each has a role of its own', () => {
  const roles = resources(template, 'AWS::Lambda::Function').map(
    ([, { Properties }]) => Properties.Role['Fn::GetAtt'][0],
  )
  expect(new Set(roles).size).toBe(roles.length)
  for (const [id, { Properties }] of resources(template, 'AWS::IAM::Role')) {
    if (roles.includes(id)) expect(Properties.ManagedPolicyArns).toBeUndefined()
  }
})
