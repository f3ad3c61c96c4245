import { expect, test } from 'vitest'
import { resources, synth } from './synth.ts'

/**
 * What holds data in the last release, and what its URL comes from: the logical ids, and the properties of which a
 * change makes CloudFormation replace it. Change this only with a release that says how to move to it.
 */
const LAST_RELEASE = {
  'AWS::DynamoDB::Table': {
    SandkeepTableD554A69D: {
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
      TableName: undefined,
      LocalSecondaryIndexes: undefined,
      ImportSourceSpecification: undefined,
    },
  },
  'AWS::S3::Bucket': { SandkeepBucketA45A13C6: { BucketName: undefined, ObjectLockEnabled: undefined } },
  'AWS::ApiGateway::RestApi': { SandkeepApiRestApiEBB54E41: {} },
  'AWS::ApiGateway::Stage': {
    SandkeepApiRestApiDeploymentStageapi9A10B4D2: {
      RestApiId: { Ref: 'SandkeepApiRestApiEBB54E41' },
      StageName: 'api',
    },
  },
} as const

const HOLDS_DATA = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket']

test('an update keeps the table, the bucket and the URL of the last release', () => {
  const template = synth()
  for (const [type, expected] of Object.entries(LAST_RELEASE)) {
    const found = Object.fromEntries(
      resources(template, type).map(([id, { Properties }]) => {
        const names = Object.keys(Object.values(expected)[0] ?? {})
        return [id, Object.fromEntries(names.map((name) => [name, Properties[name]]))]
      }),
    )
    expect(found).toStrictEqual(expected)
  }
})

test('and data that it removes from the stack stays in the account', () => {
  const template = synth()
  for (const type of HOLDS_DATA) {
    for (const [id, resource] of resources(template, type)) {
      expect(resource, id).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' })
    }
  }
})
