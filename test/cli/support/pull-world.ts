import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from './command.ts'
import { runCommand } from './command.ts'
import { type FakeDeployment, startFakeDeployment } from './fake-deployment.ts'
import { temporaryFolder } from './tree.ts'

/** A deployment and two folders: `source` for pushes, `target` for pulls, both of the thread `main`. */
export interface PullWorld {
  fake: FakeDeployment
  base: string
  source: string
  target: string
  sandkeep(...args: string[]): Promise<Outcome>
  push(...more: string[]): Promise<Outcome>
  pull(...more: string[]): Promise<Outcome>
  /** Makes these entries the head of the thread, checked by nobody. */
  give(files: unknown[], more?: Record<string, unknown>): void
  /** Stores a text, and returns the fields of a file entry for it. */
  put(text: string): { kind: 'file'; blobKey: string; size: number }
  stop(): Promise<void>
}

export async function startPullWorld(): Promise<PullWorld> {
  const fake = await startFakeDeployment()
  const base = temporaryFolder()
  const source = join(base, 'source')
  const target = join(base, 'target')
  const sandkeep = (...args: string[]) => runCommand(args, { client: fake.client, cwd: base, home: join(base, 'home') })
  return {
    fake,
    base,
    source,
    target,
    sandkeep,
    push: (...more) => sandkeep('push', source, '--thread', 'main', ...more),
    pull: (...more) => sandkeep('pull', target, '--thread', 'main', ...more),
    give(files, more = {}) {
      const checkpoint = { id: 'c', threadId: 'main', parentCheckpointId: null, createdAt: 0, reason: 'automatic' }
      Object.assign(checkpoint, { files, conversation: [], artifacts: [] }, more)
      fake.checkpoints.set('c', checkpoint as never)
      fake.heads.set('main', 'c')
    },
    put(text) {
      const blobKey = `sandbox-files/sha256/${createHash('sha256').update(text).digest('hex')}`
      fake.blobs.set(blobKey, Buffer.from(text))
      return { kind: 'file', blobKey, size: Buffer.byteLength(text) }
    },
    async stop() {
      await fake.stop()
      rmSync(base, { recursive: true, force: true })
    },
  }
}
