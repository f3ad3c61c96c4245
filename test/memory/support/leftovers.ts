import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import { memoryObjectPrefix } from '../../../src/blobs/object-keys.ts'
import type { Scope } from '../../../src/tenancy/scope.ts'
import type { Engines } from '../../support/engines.ts'

/** The keys of all items of a scope, as `pk sk`, but for the one that tells that there is such a scope. */
export async function itemsOf(engines: Engines, { tenant, project }: Scope): Promise<string[]> {
  const client = DynamoDBDocumentClient.from(engines.dynamodb)
  const keys: string[] = []
  for await (const { Items = [] } of paginateScan({ client }, { TableName: engines.tableName, ConsistentRead: true })) {
    for (const { pk, sk } of Items) if (`${pk}#`.includes(`#${tenant}#${project}#`)) keys.push(`${pk} ${sk}`)
  }
  return keys.sort()
}

/** The keys of all objects of a scope's memory, without what they all begin with. */
export async function objectsOf(engines: Engines, scope: Scope): Promise<string[]> {
  const Prefix = memoryObjectPrefix(scope)
  const keys: string[] = []
  let token: string | undefined
  do {
    const command = new ListObjectsV2Command({ Bucket: engines.bucketName, Prefix, ContinuationToken: token })
    const page = await engines.s3.send(command)
    for (const { Key = '' } of page.Contents ?? []) keys.push(Key.slice(Prefix.length))
    token = page.NextContinuationToken
  } while (token !== undefined)
  return keys
}
