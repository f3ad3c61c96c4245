import type { S3Client } from '@aws-sdk/client-s3'
import { blobObjectPrefix } from '../blobs/object-keys.ts'
import { Bodies } from '../checkpoints/bodies.ts'
import { SHARDS, shardPartition } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import { References, versionsWithReferences } from './condemn.ts'
import { Versions } from './versions.ts'

/** What a scope keeps. Sizes in bytes. */
export interface Usage {
  /** Threads that have a checkpoint. */
  threads: number
  /** Those of threads, and the snapshots of sandboxes. */
  checkpoints: number
  referencedBlobs: number
  /** Each blob once. */
  referencedBytes: number
  /** Each blob as often as a checkpoint uses it. */
  logicalBytes: number
  /** Stored versions of blobs that no checkpoint uses, deleted ones among them until a sweep has removed them. */
  unreferencedBlobs: number
  unreferencedBytes: number
}

/** Counts what a scope keeps: exact, by reading all references and listing all blobs, in bounded memory. */
export async function readUsage(stores: {
  table: Table
  s3: S3Client
  bucketName: string
  scope: Scope
  maxSlots?: number
}): Promise<Usage> {
  const { table, s3, bucketName, scope, maxSlots } = stores
  const usage: Usage = {
    ...(await countThreads(table, scope)),
    referencedBlobs: 0,
    referencedBytes: 0,
    logicalBytes: 0,
    unreferencedBlobs: 0,
    unreferencedBytes: 0,
  }
  const context = { table, scope, bodies: new Bodies(s3, bucketName, scope) }
  const versions = new Versions(s3, bucketName, blobObjectPrefix(scope))
  for await (const listed of versionsWithReferences(new References(context, maxSlots), versions)) {
    for (const { version, references } of listed) {
      const { size, current, marker } = version
      if (marker) continue
      if (references > 0 && current) {
        usage.referencedBlobs += 1
        usage.referencedBytes += size
        usage.logicalBytes += size * references
      } else {
        usage.unreferencedBlobs += 1
        usage.unreferencedBytes += size
      }
    }
  }
  return usage
}

async function countThreads(table: Table, scope: Scope): Promise<{ threads: number; checkpoints: number }> {
  const counts = { threads: 0, checkpoints: 0 }
  for (const shard of SHARDS) {
    for await (const items of table.query(shardPartition(scope, shard), { attributes: ['live', 'own'] })) {
      for (const { live, own } of items) {
        if (live === undefined || live === 0) continue
        if (!own) counts.threads += 1
        counts.checkpoints += live as number
      }
    }
  }
  return counts
}
