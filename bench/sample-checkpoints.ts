import { createHash } from 'node:crypto'
import type { SandboxCheckpoint, SandboxSnapshotFileEntry } from '../src/checkpoints/types.ts'

const FOLDERS = ['src', 'lib', 'test', 'docs', 'assets', 'packages/core', 'packages/web/components', 'scripts']
const EXTENSIONS = ['ts', 'tsx', 'json', 'md', 'css', 'svg']

/** What a workspace of so many files is kept as; the same for the same arguments. Contents: all distinct. */
export function sampleFiles(count: number, generation = 0, changed: ReadonlySet<number> = new Set()) {
  return Array.from({ length: count }, (_, index): SandboxSnapshotFileEntry => {
    const hash = sha256(`${index}:${changed.has(index) ? generation : 0}`)
    const folder = FOLDERS[index % FOLDERS.length]
    const name = `${hash.slice(0, 3)}-module-${index}.${EXTENSIONS[index % EXTENSIONS.length]}`
    return {
      path: `${folder}/part-${Math.floor(index / 50)}/${name}`,
      kind: 'file',
      size: 200 + (Number.parseInt(hash.slice(0, 8), 16) % 40_000),
      mode: 0o644,
      blobKey: `sandbox-files/sha256/${hash}`,
    }
  })
}

/** A checkpoint with these files and a short conversation. `parent`: the id of the one before it. */
export function sampleCheckpoint(
  threadId: string,
  sequence: number,
  parent: string | null,
  files: SandboxCheckpoint['files'],
): SandboxCheckpoint {
  return {
    id: checkpointId(threadId, sequence),
    threadId,
    parentCheckpointId: parent,
    createdAt: 1_760_000_000_000 + sequence * 60_000,
    reason: 'automatic',
    sourceRunId: `run-${sequence}`,
    files,
    conversation: [
      { role: 'user', content: `Make the change number ${sequence}, then run the tests.` },
      { role: 'assistant', content: 'Done: the tests pass, and the change is in src/part-0.' },
    ],
    artifacts: [],
  }
}

export function checkpointId(threadId: string, sequence: number): string {
  return `${threadId}-checkpoint-${sequence}`
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
