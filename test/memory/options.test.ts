import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import { Duration } from 'aws-cdk-lib'
import { expect, test } from 'vitest'
import { memoryConfigFromEnvironment } from '../../lambdas/memory/config.ts'
import { sandboxRetentionSec } from '../../lambdas/sandboxes/config.ts'
import { createMemoryStore } from '../../src/memory/store.ts'
import { synth } from '../stack/synth.ts'

const region = 'us-east-1'
const names = { tableName: 't', bucketName: 'b', scope: { tenant: 'acme', project: 'demo' } }

/** No time that they make has a text, or ends at all. */
test.for([0, -1, 1.5, 3_155_760_001, 8.64e15, Number.NaN, Number.POSITIVE_INFINITY])(
  'a retention of %d seconds is refused',
  (seconds) => {
    const config = { dynamodb: new DynamoDBClient({ region }), s3: new S3Client({ region }), ...names }
    expect(() => createMemoryStore({ ...config, retentionSec: seconds })).toThrow('retentionSec must be')
    const environment = { TABLE_NAME: 't', BUCKET_NAME: 'b', AWS_REGION: region }
    const memory = { ...environment, SANDBOX_MEMORY_RETENTION_SEC: String(seconds) }
    expect(() => memoryConfigFromEnvironment(memory)).toThrow('SANDBOX_MEMORY_RETENTION_SEC must be')
    expect(() => sandboxRetentionSec({ SANDBOX_RETENTION_SEC: String(seconds) })).toThrow(
      'SANDBOX_RETENTION_SEC must be',
    )
  },
)

test('and so is one of the construct', { timeout: 60_000 }, () => {
  expect(() => synth({ memoryRetention: Duration.days(36_526) })).toThrow('memoryRetention must be')
  expect(() => synth({ sandboxRetention: Duration.seconds(0) })).toThrow('sandboxRetention must be')
})
