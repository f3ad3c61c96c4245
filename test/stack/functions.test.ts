import { Duration } from 'aws-cdk-lib'
import { Match } from 'aws-cdk-lib/assertions'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { expect, test } from 'vitest'
import { resources, synth } from './synth.ts'

const template = synth()

const functions = new Map(
  resources(template, 'AWS::Lambda::Function').map(([id, resource]) => [
    String(resource.Metadata['sandkeep:function']),
    { id, ...resource.Properties },
  ]),
)

test('there is one function a service, and nothing else runs', () => {
  expect([...functions.keys()].sort()).toEqual([
    'anthropic',
    'authorizer',
    'bundles',
    'checkpoints',
    'file-content',
    'files',
    'instances',
    'keys',
    'memory',
    'openapi',
    'project-md',
    'sandboxes',
    'sweep',
  ])
})

test('every function runs on Node.js 24, on arm64, and knows the table and the bucket', () => {
  const [table] = Object.keys(template.findResources('AWS::DynamoDB::Table'))
  const [bucket] = Object.keys(template.findResources('AWS::S3::Bucket'))
  for (const properties of functions.values()) {
    expect(properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Environment: { Variables: { TABLE_NAME: { Ref: table }, BUCKET_NAME: { Ref: bucket } } },
    })
  }
})

test.for([
  ['authorizer', 512, 10],
  ['bundles', 1_769, 900],
  ['checkpoints', 1_769, 29],
  ['file-content', 512, 900],
  ['files', 1_024, 29],
  ['instances', 512, 29],
  ['keys', 512, 29],
  ['memory', 1_769, 29],
  ['sandboxes', 1_769, 29],
  ['sweep', 1_024, 900],
] as const)('memory and time of %s', ([name, MemorySize, Timeout]) => {
  expect(functions.get(name)).toMatchObject({ MemorySize, Timeout })
})

test('every log is kept for a month, or as long as the stack is told', () => {
  const retentions = (from: typeof template) =>
    resources(from, 'AWS::Logs::LogGroup').map(([, group]) => group.Properties.RetentionInDays)
  expect(retentions(template)).toEqual(Array.from({ length: functions.size + 1 }, () => 30))
  expect(new Set(retentions(synth({ logRetention: RetentionDays.ONE_WEEK })))).toEqual(new Set([7]))
  const groups = [...functions.values()].map(({ LoggingConfig }) => LoggingConfig.LogGroup.Ref)
  expect(new Set(groups).size).toBe(functions.size)
})

test('the sweep runs once a day, or as often as the stack is told, and is tried again when it does not start', () => {
  template.hasResourceProperties('AWS::Scheduler::Schedule', {
    ScheduleExpression: 'rate(1 day)',
    State: 'ENABLED',
    Target: {
      Arn: { 'Fn::GetAtt': [functions.get('sweep').id, 'Arn'] },
      RetryPolicy: { MaximumRetryAttempts: 3, MaximumEventAgeInSeconds: 3_600 },
    },
  })
  synth({ sweepRate: Duration.hours(6) }).hasResourceProperties('AWS::Scheduler::Schedule', {
    ScheduleExpression: 'rate(6 hours)',
  })
})

test('the sweep is called by its name from the function of the checkpoints, and not again after it failed', () => {
  const { id } = functions.get('sweep')
  expect(functions.get('checkpoints').Environment.Variables.SWEEP_FUNCTION).toEqual({ Ref: id })
  template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
    FunctionName: { Ref: id },
    MaximumRetryAttempts: 0,
  })
})

test('only the API invokes the functions of the API', () => {
  const [api] = Object.keys(template.findResources('AWS::ApiGateway::RestApi'))
  template.allResourcesProperties('AWS::Lambda::Permission', {
    Action: 'lambda:InvokeFunction',
    Principal: 'apigateway.amazonaws.com',
    SourceArn: { 'Fn::Join': ['', Match.arrayWith([{ Ref: api }])] },
  })
  const allowed = resources(template, 'AWS::Lambda::Permission').map(
    ([, permission]) => permission.Properties.FunctionName['Fn::GetAtt'][0],
  )
  const answering = [...functions].flatMap(([name, { id }]) => (['bundles', 'sweep'].includes(name) ? [] : [id]))
  expect(allowed.sort()).toEqual(answering.sort())
})

test.for([
  ['memory', 'memoryRetention', 'SANDBOX_MEMORY_RETENTION_SEC'],
  ['sandboxes', 'sandboxRetention', 'SANDBOX_RETENTION_SEC'],
  ['sweep', 'sandboxRetention', 'SANDBOX_RETENTION_SEC'],
] as const)('%s keeps for 30 days, or as long as the stack is told by %s', ([service, property, variable]) => {
  const retention = (from: typeof template) =>
    resources(from, 'AWS::Lambda::Function').find(([, { Metadata }]) => Metadata['sandkeep:function'] === service)?.[1]
      .Properties.Environment.Variables[variable]
  expect(retention(template)).toBe('2592000')
  expect(retention(synth({ [property]: Duration.hours(1) }))).toBe('3600')
  expect(() => synth({ [property]: Duration.seconds(0) })).toThrow(property)
})
