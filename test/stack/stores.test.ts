import { RemovalPolicy } from 'aws-cdk-lib'
import { Match } from 'aws-cdk-lib/assertions'
import { expect, test } from 'vitest'
import { createTableInput } from '../../src/table/schema.ts'
import { only, resources, synth } from './synth.ts'

const template = synth()
const throwaway = synth({ removalPolicy: RemovalPolicy.DESTROY })

test('the table is on demand, can be restored to any second, and expires items by ttl', () => {
  template.hasResourceProperties('AWS::DynamoDB::Table', {
    BillingMode: 'PAY_PER_REQUEST',
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
  })
})

test('the table has the keys that local tables have', () => {
  const { AttributeDefinitions, KeySchema } = createTableInput('any')
  template.hasResourceProperties('AWS::DynamoDB::Table', { AttributeDefinitions, KeySchema })
})

test('the bucket is private, owned, encrypted and takes TLS only', () => {
  template.hasResourceProperties('AWS::S3::Bucket', {
    PublicAccessBlockConfiguration: {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    },
    OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
    BucketEncryption: {
      ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
    },
    VersioningConfiguration: { Status: 'Enabled' },
  })
  template.hasResourceProperties('AWS::S3::BucketPolicy', {
    PolicyDocument: {
      Statement: [
        Match.objectLike({ Effect: 'Deny', Action: 's3:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      ],
    },
  })
})

test('only what is on its way, and what was deleted, expires in the bucket', () => {
  expect(only(template, 'AWS::S3::Bucket').Properties.LifecycleConfiguration.Rules).toEqual([
    { Id: 'abort-incomplete-uploads', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
    {
      Id: 'expire-staging',
      Status: 'Enabled',
      Prefix: 'staging/',
      ExpirationInDays: 1,
      NoncurrentVersionExpiration: { NoncurrentDays: 1 },
    },
    {
      Id: 'expire-deleted-bodies',
      Status: 'Enabled',
      Prefix: 'bodies/',
      ExpiredObjectDeleteMarker: true,
      NoncurrentVersionExpiration: { NoncurrentDays: 1 },
    },
    {
      Id: 'expire-deleted-memory',
      Status: 'Enabled',
      Prefix: 'projects/',
      ExpiredObjectDeleteMarker: true,
      NoncurrentVersionExpiration: { NoncurrentDays: 1 },
    },
    {
      Id: 'expire-deleted-files',
      Status: 'Enabled',
      Prefix: 'files/',
      ExpiredObjectDeleteMarker: true,
      NoncurrentVersionExpiration: { NoncurrentDays: 1 },
    },
    {
      Id: 'expire-deleted-bundles',
      Status: 'Enabled',
      Prefix: 'bundles/',
      ExpiredObjectDeleteMarker: true,
      NoncurrentVersionExpiration: { NoncurrentDays: 1 },
    },
  ])
})

test('by default the data outlives the stack', () => {
  expect(only(template, 'AWS::DynamoDB::Table')).toMatchObject({
    DeletionPolicy: 'Retain',
    UpdateReplacePolicy: 'Retain',
    Properties: { DeletionProtectionEnabled: true },
  })
  expect(only(template, 'AWS::S3::Bucket')).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' })
  expect(resources(template, 'Custom::S3AutoDeleteObjects')).toEqual([])
})

test('a throw-away stack takes its data along', () => {
  expect(only(throwaway, 'AWS::DynamoDB::Table')).toMatchObject({
    DeletionPolicy: 'Delete',
    Properties: { DeletionProtectionEnabled: false },
  })
  expect(only(throwaway, 'AWS::S3::Bucket')).toMatchObject({ DeletionPolicy: 'Delete' })
  expect(resources(throwaway, 'Custom::S3AutoDeleteObjects')).toHaveLength(1)
})
