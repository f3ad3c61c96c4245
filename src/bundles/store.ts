import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { bundleObjectKey } from '../blobs/object-keys.ts'
import { presignGet } from '../blobs/presign.ts'
import { createBlobStore } from '../blobs/store.ts'
import { EXCHANGE_LIMIT } from '../limits.ts'
import { Table } from '../table/table.ts'
import { parseScope, type Scope } from '../tenancy/scope.ts'
import { buildBundles } from './build.ts'
import { type DownloadPlan, isSmall, MIN_BLOBS, planDownloads } from './plan.ts'
import { readRecord, readSet, workspaceHash } from './records.ts'
import type { BundleDownload, BundleStore, PlannedDownloads } from './types.ts'

export interface BundleStoreConfig {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  scope: Scope
}

const SIGN_CONCURRENCY = 64

/** The bundles of one scope, over DynamoDB and S3. @throws InvalidInputError when the scope's names are none. */
export function createBundleStore(config: BundleStoreConfig): BundleStore {
  const { s3, bucketName } = config
  const scope = parseScope(config.scope.tenant, config.scope.project)
  const context = { table: new Table(config.dynamodb, config.tableName), s3, bucketName, scope }
  const blobs = createBlobStore({ ...config, scope })
  const sign = async ({ id, size, entries }: DownloadPlan['bundles'][number]): Promise<BundleDownload> => {
    const download = await presignGet({ s3, bucketName, objectKey: bundleObjectKey(scope, id) })
    return { id, size, download, entries }
  }
  return {
    build: async (workspace, snapshot, timeIsUp = () => false) =>
      buildBundles({ ...context, blobs }, workspace, snapshot, timeIsUp),

    async downloads(workspace, { files, artifacts }): Promise<PlannedDownloads> {
      const wanted = [...files, ...artifacts].flatMap((entry) =>
        'blobKey' in entry ? { key: entry.blobKey, size: entry.size } : [],
      )
      const record = await readRecord(context, workspaceHash(workspace))
      const bundles = (record && (await readSet(context, record))) ?? []
      const plan = planDownloads(wanted, bundles)
      const keys = plan.single.map(({ key }) => key)
      const asked = keys.slice(0, EXCHANGE_LIMIT)
      const [bundleDownloads, answers] = await Promise.all([
        pMap(plan.bundles, sign, { concurrency: SIGN_CONCURRENCY }),
        asked.length === 0 ? [] : blobs.prepareDownloads(asked),
      ])
      return {
        bundles: bundleDownloads,
        blobs: answers.flatMap((answer) =>
          answer.download === null ? [] : { key: answer.key, size: answer.size, download: answer.download },
        ),
        missing: answers.filter(({ download }) => download === null).map(({ key }) => key),
        rest: keys.slice(EXCHANGE_LIMIT),
        wantsBundles: plan.single.filter(isSmall).length >= MIN_BLOBS,
      }
    },
  }
}
