import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import type { Scope } from './tenancy/scope.ts'

/** What a store of this package works on. */
export interface StoreOrigin {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  scope: Scope
}

const origins = new WeakMap<object, StoreOrigin>()

/** Notes what a store works on, for `commonOrigin`. @returns the store */
export function noteOrigin<Store extends object>(store: Store, origin: StoreOrigin): Store {
  const { dynamodb, s3, tableName, bucketName, scope } = origin
  origins.set(store, { dynamodb, s3, tableName, bucketName, scope: { ...scope } })
  return store
}

/** What two stores of this package work on, when it is the same table, bucket and scope. */
export function commonOrigin(left: object, right: object): StoreOrigin | undefined {
  const [one, other] = [origins.get(left), origins.get(right)]
  const same =
    one !== undefined &&
    one.tableName === other?.tableName &&
    one.bucketName === other.bucketName &&
    one.scope.tenant === other.scope.tenant &&
    one.scope.project === other.scope.project
  return same ? one : undefined
}
