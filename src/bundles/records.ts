import { randomUUID } from 'node:crypto'
import { GetObjectCommand, NoSuchKey, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { bundleObjectKey } from '../blobs/object-keys.ts'
import { bundleKey, bundlePartition } from '../table/keys.ts'
import type { Item, Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import { hashBytes, hashText } from '../text.ts'
import { decodeSet, encodeSet } from './set.ts'
import type { Bundle, WorkspaceName } from './types.ts'

export interface BundleContext {
  readonly table: Table
  readonly s3: S3Client
  readonly bucketName: string
  readonly scope: Scope
}

/** Which bundles a workspace has, and by which of its checkpoints. */
export interface BundleRecord {
  workspaceHash: string
  /** Another with each change. */
  version: string
  /** The object that lists the bundles. */
  setId: string
  /** The hash of the id of the checkpoint that they were built for. */
  checkpointHash: string
  /** When that checkpoint was made, in milliseconds. */
  savedAt: number
}

/** The two kinds of names never make the same hash. */
export function workspaceHash(workspace: WorkspaceName): string {
  return hashText('sandboxId' in workspace ? `sandbox:${workspace.sandboxId}` : `key:${workspace.workspaceKey}`)
}

export async function readRecord(
  { table, scope }: Pick<BundleContext, 'table' | 'scope'>,
  hash: string,
): Promise<BundleRecord | undefined> {
  const item = await retryTransient(() => table.get(bundleKey(scope, hash)))
  return item && recordOf(item)
}

export async function* listRecords({ table, scope }: Pick<BundleContext, 'table' | 'scope'>) {
  for await (const items of table.query(bundlePartition(scope))) yield items.map(recordOf)
}

/** Puts a record in the place of `before`, or of none. @returns false when another is there by now */
export async function replaceRecord(
  { table, scope }: Pick<BundleContext, 'table' | 'scope'>,
  before: BundleRecord | undefined,
  record: Omit<BundleRecord, 'version'>,
): Promise<boolean> {
  const { workspaceHash, ...values } = record
  const version = randomUUID()
  const attributes = Object.entries({ ...values, version })
  const { done, item } = await retryTransient(() =>
    table.update(bundleKey(scope, workspaceHash), {
      expression: `SET ${attributes.map(([name]) => `#${name} = :${name}`).join(', ')}`,
      condition: before ? '#version = :before' : 'attribute_not_exists(pk)',
      names: Object.fromEntries(attributes.map(([name]) => [`#${name}`, name])),
      values: {
        ...Object.fromEntries(attributes.map(([name, value]) => [`:${name}`, value])),
        ...(before && { ':before': before.version }),
      },
    }),
  )
  // A write whose answer was lost meets its own version.
  return done || item?.version === version
}

/** Removes a record, unless it has changed. */
export async function removeRecord(
  { table, scope }: Pick<BundleContext, 'table' | 'scope'>,
  { workspaceHash, version }: BundleRecord,
): Promise<void> {
  await retryTransient(() =>
    table.delete(bundleKey(scope, workspaceHash), {
      condition: '#version = :version',
      names: { '#version': 'version' },
      values: { ':version': version },
    }),
  )
}

/** The bundles that a record names; undefined when their list is gone. */
export async function readSet(context: BundleContext, { setId }: BundleRecord): Promise<Bundle[] | undefined> {
  const bytes = await getObject(context, setId)
  return bytes && decodeSet(bytes)
}

/** @returns the id of the new list */
export async function writeSet(context: BundleContext, bundles: readonly Bundle[]): Promise<string> {
  const id = randomUUID()
  await putObject(context, id, encodeSet(bundles))
  return id
}

export async function putObject({ s3, bucketName, scope }: BundleContext, id: string, bytes: Buffer): Promise<void> {
  const command = new PutObjectCommand({
    Bucket: bucketName,
    Key: bundleObjectKey(scope, id),
    Body: bytes,
    ContentType: 'application/octet-stream',
    ChecksumSHA256: Buffer.from(hashBytes(bytes), 'hex').toString('base64'),
  })
  await retryTransient(() => s3.send(command))
}

async function getObject({ s3, bucketName, scope }: BundleContext, id: string): Promise<Uint8Array | undefined> {
  return retryTransient(async () => {
    try {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucketName, Key: bundleObjectKey(scope, id) }))
      return await Body?.transformToByteArray()
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined
      throw error
    }
  })
}

function recordOf(item: Item): BundleRecord {
  return {
    workspaceHash: item.sk as string,
    version: item.version as string,
    setId: item.setId as string,
    checkpointHash: item.checkpointHash as string,
    savedAt: item.savedAt as number,
  }
}
