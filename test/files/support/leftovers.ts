import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import type { Scope } from '../../../src/tenancy/scope.ts'
import type { Engines } from '../../support/engines.ts'

/** All that the table and the bucket have of a scope's files: keys of items, and of objects. */
export async function kept({ dynamodb, s3, tableName, bucketName }: Engines, { tenant, project }: Scope) {
  const items: string[] = []
  const client = DynamoDBDocumentClient.from(dynamodb)
  for await (const { Items = [] } of paginateScan({ client }, { TableName: tableName, ConsistentRead: true })) {
    for (const { pk, sk } of Items) if (String(pk).startsWith(`F#${tenant}#${project}`)) items.push(`${pk} ${sk}`)
  }
  const prefix = `files/${tenant}/${project}/`
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucketName, Prefix: prefix }))
  return { items, objects: Contents.map(({ Key = '' }) => Key.slice(prefix.length)) }
}
