import { createHash } from 'node:crypto'
import { DeleteObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { blobObjectKey, bundleObjectKey, bundleObjectPrefix } from '../../../src/blobs/object-keys.ts'
import { createBlobStore } from '../../../src/blobs/store.ts'
import { createBundleStore } from '../../../src/bundles/store.ts'
import type { BundledSnapshot, SnapshotDownloads, WorkspaceName } from '../../../src/bundles/types.ts'
import { createCheckpointStore } from '../../../src/checkpoints/store.ts'
import type { SandboxSnapshotFileEntry } from '../../../src/checkpoints/types.ts'
import { checkpoint } from '../../http/support/checkpoint.ts'
import type { Engines } from '../../support/engines.ts'

export const contentOf = (name: string | number, size = 1_000): Buffer =>
  createHash('shake256', { outputLength: size }).update(String(name)).digest()

export const keyOf = (content: Uint8Array): string =>
  `sandbox-files/sha256/${createHash('sha256').update(content).digest('hex')}`

export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index)

/** A scope that nothing has used, with a workspace whose files are named by numbers. */
export function freshWorkspace(engines: Engines) {
  const scope = engines.freshScope()
  const config = { ...engines, scope }
  const blobs = createBlobStore(config)
  const checkpoints = createCheckpointStore(config)
  const workspace: WorkspaceName = { workspaceKey: 'task' }
  let saved = 0
  return {
    scope,
    workspace,
    blobs,
    checkpoints,
    bundles: createBundleStore(config),

    /** Files with these contents, in the store. */
    async files(names: readonly (string | number)[], size?: number): Promise<SandboxSnapshotFileEntry[]> {
      return pMap(
        names,
        async (name) => {
          const bytes = contentOf(name, size)
          const blobKey = keyOf(bytes)
          await blobs.put(blobKey, bytes)
          return { kind: 'file', path: `file-${name}`, blobKey, size: bytes.length }
        },
        { concurrency: 16 },
      )
    },

    /** A checkpoint in a thread of its own, as what bundles are built for; later ones have later times. */
    async save(files: SandboxSnapshotFileEntry[]): Promise<BundledSnapshot> {
      saved += 1
      const id = `checkpoint-${saved}`
      const writer = await checkpoints.acquireWriter(id)
      const saving = checkpoint(id, id, { files, createdAt: saved })
      await checkpoints.append({ checkpoint: saving, expectedHeadId: null, writer })
      await writer.release()
      return { checkpointId: id, createdAt: saved, files }
    },

    async removeCheckpoint({ checkpointId: id }: BundledSnapshot): Promise<void> {
      const writer = await checkpoints.acquireWriter(id)
      await checkpoints.deleteHead({ threadId: id, checkpointId: id, writer })
      await writer.release()
    },

    /** Ids of all objects among the bundles. */
    async objects(): Promise<string[]> {
      const Prefix = bundleObjectPrefix(scope)
      const { Contents = [] } = await engines.s3.send(new ListObjectsV2Command({ Bucket: engines.bucketName, Prefix }))
      return Contents.map(({ Key = '' }) => Key.slice(Prefix.length))
    },

    async removeBundle(id: string): Promise<void> {
      await engines.s3.send(new DeleteObjectCommand({ Bucket: engines.bucketName, Key: bundleObjectKey(scope, id) }))
    },

    /** Puts other bytes in the place of a blob, as no caller could. */
    async corrupt(blobKey: string, bytes: Uint8Array): Promise<void> {
      const Key = blobObjectKey(scope, blobKey)
      await engines.s3.send(new PutObjectCommand({ Bucket: engines.bucketName, Key, Body: bytes }))
    },
  }
}

/** Downloads all that a plan names, checks each blob by its hash, and tells the keys. */
export async function fetchAll({
  bundles,
  blobs,
}: SnapshotDownloads): Promise<{ bundled: string[]; single: string[] }> {
  const bundled: string[] = []
  const single: string[] = []
  for (const { download, size, entries } of bundles) {
    const bytes = await bytesOf(download.url)
    if (bytes.length !== size) throw new Error(`A bundle of ${size} bytes has ${bytes.length}.`)
    for (const { key, size, offset } of entries) {
      if (keyOf(bytes.subarray(offset, offset + size)) !== key) throw new Error(`${key} is not where it should be.`)
      bundled.push(key)
    }
  }
  for (const { key, size, download } of blobs) {
    const bytes = await bytesOf(download.url)
    if (bytes.length !== size || keyOf(bytes) !== key) throw new Error(`${key} is not what it should be.`)
    single.push(key)
  }
  return { bundled, single }
}

async function bytesOf(url: string): Promise<Buffer> {
  const answer = await fetch(url)
  if (answer.status !== 200) throw new Error(`The storage answered ${answer.status}.`)
  return Buffer.from(await answer.arrayBuffer())
}
