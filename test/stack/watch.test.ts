import { existsSync } from 'node:fs'
import path from 'node:path'
import { Stack } from 'aws-cdk-lib'
import { Match } from 'aws-cdk-lib/assertions'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import { Key } from 'aws-cdk-lib/aws-kms'
import { HostedZone } from 'aws-cdk-lib/aws-route53'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { App } from 'aws-cdk-lib/core'
import { expect, test } from 'vitest'
import { only, resources, synth } from './synth.ts'

const beside = () => new Stack(new App(), 'Beside')

test('every alarm has a page that says what to do, and tells the topic of its begin and end', () => {
  const topicArn = 'arn:aws:sns:us-east-1:123456789012:alarms'
  const template = synth({ alarmTopic: Topic.fromTopicArn(beside(), 'Topic', topicArn) })
  const alarms = resources(template, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties)
  expect(alarms.length).toBeGreaterThan(0)
  for (const { AlarmDescription, AlarmActions, OKActions } of alarms) {
    const [, page = ''] = /See (docs\/runbooks\/[a-z-]+\.md)\.$/.exec(AlarmDescription) ?? []
    expect(existsSync(path.join(import.meta.dirname, '../..', page)), AlarmDescription).toBe(true)
    expect([AlarmActions, OKActions]).toStrictEqual([[topicArn], [topicArn]])
  }
})

test('the alarms look at every function, and at no more metrics than an alarm may', () => {
  const template = synth()
  const functions = new Set<string>()
  for (const [, { Properties }] of resources(template, 'AWS::CloudWatch::Alarm')) {
    const metrics = (Properties.Metrics ?? []).filter(({ MetricStat }: { MetricStat?: object }) => MetricStat)
    expect(metrics.length).toBeLessThanOrEqual(10)
    for (const { MetricStat } of metrics) {
      if (MetricStat.Metric.MetricName === 'Errors') functions.add(MetricStat.Metric.Dimensions[0].Value.Ref)
    }
  }
  const all = resources(template, 'AWS::Lambda::Function').filter(([, { Metadata }]) => Metadata?.['sandkeep:function'])
  expect([...functions].sort()).toStrictEqual(all.map(([id]) => id).sort())
})

test('every function writes a line for each request, under its name', () => {
  for (const [, { Metadata, Properties }] of resources(synth(), 'AWS::Lambda::Function')) {
    const name = Metadata?.['sandkeep:function']
    if (name === undefined) continue
    expect(Properties.Environment.Variables).toMatchObject({
      POWERTOOLS_SERVICE_NAME: name,
      POWERTOOLS_LOG_LEVEL: 'INFO',
    })
  }
})

test('tracing, a key, reserved concurrency and a domain are what a deployment chooses', () => {
  const stack = beside()
  const keyArn = 'arn:aws:kms:us-east-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef'
  const template = synth({
    tracing: true,
    encryptionKey: Key.fromKeyArn(stack, 'Key', keyArn),
    reservedConcurrency: { keys: 3 },
    domain: {
      name: 'sandkeep.example',
      certificate: Certificate.fromCertificateArn(
        stack,
        'Certificate',
        'arn:aws:acm:us-east-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef',
      ),
      hostedZone: HostedZone.fromHostedZoneAttributes(stack, 'Zone', { hostedZoneId: 'Z1', zoneName: 'example' }),
    },
  })
  template.allResourcesProperties('AWS::ApiGateway::Stage', { TracingEnabled: true })
  expect(only(template, 'AWS::DynamoDB::Table').Properties.SSESpecification).toMatchObject({ KMSMasterKeyId: keyArn })
  template.hasResourceProperties('AWS::S3::Bucket', {
    BucketEncryption: {
      ServerSideEncryptionConfiguration: [
        { BucketKeyEnabled: true, ServerSideEncryptionByDefault: { KMSMasterKeyID: keyArn, SSEAlgorithm: 'aws:kms' } },
      ],
    },
  })
  for (const [id, { Metadata, Properties }] of resources(template, 'AWS::Lambda::Function')) {
    const name = Metadata?.['sandkeep:function']
    if (name === undefined) continue
    expect(Properties.TracingConfig, id).toStrictEqual({ Mode: 'Active' })
    expect(Properties.ReservedConcurrentExecutions, id).toBe(name === 'keys' ? 3 : undefined)
  }
  template.hasResourceProperties('AWS::ApiGateway::DomainName', {
    DomainName: 'sandkeep.example',
    SecurityPolicy: 'TLS_1_2',
  })
  template.hasResourceProperties('AWS::Route53::RecordSet', { Name: 'sandkeep.example.', Type: 'A' })
  template.hasResourceProperties('AWS::ApiGateway::RestApi', { DisableExecuteApiEndpoint: true })
  expect(template.findOutputs('ApiUrl')).toMatchObject({ ApiUrl: { Value: 'https://sandkeep.example' } })
  template.hasResourceProperties('AWS::IAM::Policy', {
    PolicyDocument: { Statement: Match.arrayWith([Match.objectLike({ Resource: keyArn })]) },
  })
})

test('a function that is not there has no concurrency to reserve', () => {
  const reservedConcurrency: object = { kys: 3 }
  expect(() => synth({ reservedConcurrency })).toThrow('there is no function "kys"')
})
