import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import { Bodies } from '../checkpoints/bodies.ts'
import { byThread, readChain } from '../checkpoints/chain.ts'
import { META_ATTRIBUTES } from '../checkpoints/read.ts'
import { clearAway } from '../checkpoints/remove.ts'
import { SCOPES_PARTITION, SHARDS, scopeOf, shardPartition } from '../table/keys.ts'
import { Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'

export interface SweepConfig {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
}

export interface SweepReport {
  scopes: number
  /** Checkpoints below their thread's mark whose items and bodies were removed. */
  cleared: number
}

/** Clears away, in every scope, what prunes left behind when they were killed after their commit. */
export async function runSweep({ dynamodb, s3, tableName, bucketName }: SweepConfig): Promise<SweepReport> {
  const table = new Table(dynamodb, tableName)
  const report: SweepReport = { scopes: 0, cleared: 0 }
  for await (const page of table.query(SCOPES_PARTITION)) {
    for (const item of page) {
      const scope = scopeOf(item.sk as string)
      report.scopes += 1
      report.cleared += await sweepScope(table, new Bodies(s3, bucketName, scope), scope)
    }
  }
  return report
}

async function sweepScope(table: Table, bodies: Bodies, scope: Scope): Promise<number> {
  let cleared = 0
  for (const shard of SHARDS) {
    const pages = table.query(shardPartition(scope, shard), { attributes: META_ATTRIBUTES })
    for await (const items of byThread(pages)) {
      // A thread that changes just now is left to the next sweep.
      const dead = readChain(items)?.dead ?? []
      await clearAway({ table, bodies, scope }, dead)
      cleared += dead.length
    }
  }
  return cleared
}
