import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import type { SandboxCheckpointStoreOptions } from '../../src/checkpoints/types.ts'
import { ENVIRONMENT } from '../../src/environment.ts'
import { isRetention, RETENTION_RULE } from '../../src/limits.ts'
import { metered } from './capacity.ts'

/** What a function needs of the outside. */
export interface HandlerConfig extends SandboxCheckpointStoreOptions {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
}

/**
 * The configuration that the stack gives through environment variables.
 * @throws Error naming the variable that is not set.
 */
export function configFromEnvironment(environment: NodeJS.ProcessEnv): HandlerConfig {
  return {
    dynamodb: metered(new DynamoDBClient({})),
    // A presigned request must not carry the CRC32 of an empty body, which the default setting would sign into it.
    s3: new S3Client({ requestChecksumCalculation: 'WHEN_REQUIRED' }),
    tableName: required(environment, ENVIRONMENT.tableName),
    bucketName: required(environment, ENVIRONMENT.bucketName),
  }
}

export function required(environment: NodeJS.ProcessEnv, name: string): string {
  const value = environment[name]
  if (value === undefined || value === '') throw new Error(`The environment variable ${name} is not set.`)
  return value
}

/** In seconds. @throws Error naming the variable that is not set, or no retention */
export function requiredRetention(environment: NodeJS.ProcessEnv, name: string): number {
  const seconds = Number(required(environment, name))
  if (isRetention(seconds)) return seconds
  throw new Error(`The environment variable ${name} must be ${RETENTION_RULE}.`)
}
