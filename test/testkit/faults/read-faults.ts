import { SandboxCheckpointInvalidIdError } from '../../../src/checkpoints/errors.ts'
import type {
  SandboxBlobReference,
  SandboxCheckpoint,
  SandboxCheckpointAppendInput,
  SandboxCheckpointDeleteHeadInput,
  SandboxCheckpointForkInput,
} from '../../../src/checkpoints/types.ts'
import { type Check, MemoryCheckpointStore } from '../../../testkit/memory-checkpoint-store.ts'
import { type Fault, storedFault, storeFault } from './fault.ts'

/** One write makes all of its checks but that of the ids. */
function withoutIdChecks(name: string, list: 'appendChecks' | 'deleteHeadChecks' | 'forkChecks'): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      protected override appendChecks(input: SandboxCheckpointAppendInput): Check[] {
        return super.appendChecks(input).slice(list === 'appendChecks' ? 1 : 0)
      }
      protected override deleteHeadChecks(input: SandboxCheckpointDeleteHeadInput): Check[] {
        return super.deleteHeadChecks(input).slice(list === 'deleteHeadChecks' ? 1 : 0)
      }
      protected override forkChecks(input: SandboxCheckpointForkInput): Check[] {
        return super.forkChecks(input).slice(list === 'forkChecks' ? 1 : 0)
      }
    },
  )
}

/** Ids that this step makes equal are one id. */
function keyFault(name: string, change: (id: string) => string): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      override async get(id: string): Promise<SandboxCheckpoint | null> {
        this.checkIds(id)
        const found = [...this.checkpoints.values()].find((checkpoint) => change(checkpoint.id) === change(id))
        return found === undefined ? null : structuredClone(found)
      }
      protected override isUsed(id: string): boolean {
        return [...this.checkpoints.keys()].some((used) => change(used) === change(id))
      }
    },
  )
}

function threadKeyFault(name: string, change: (id: string) => string): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      override async list(threadId: string): Promise<SandboxCheckpoint[]> {
        const all = [...this.checkpoints.values()].filter((each) => change(each.threadId) === change(threadId))
        return structuredClone(all.sort((a, b) => a.createdAt - b.createdAt || this.compareText(a.id, b.id)))
      }
      protected override headOf(threadId: string): string | null {
        return super.headOf(change(threadId))
      }
      protected override chain(threadId: string): string[] {
        return super.chain(change(threadId))
      }
    },
  )
}

function listFault(name: string, compare: (a: SandboxCheckpoint, b: SandboxCheckpoint) => number): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      override async list(threadId: string): Promise<SandboxCheckpoint[]> {
        return (await super.list(threadId)).sort(compare)
      }
    },
  )
}

function referencesFault(name: string, change: (list: SandboxBlobReference[]) => SandboxBlobReference[]): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      override async listBlobReferences(): Promise<SandboxBlobReference[]> {
        return change(await super.listBlobReferences())
      }
    },
  )
}

function textOrder(a: string, b: string): number {
  return a < b ? -1 : 1
}

/** Ids, lists, counts, and that what is read is what was written. */
export const readFaults: Fault[] = [
  storeFault(
    'no id is checked on get',
    class extends MemoryCheckpointStore {
      override async get(id: string): Promise<SandboxCheckpoint | null> {
        return structuredClone(this.checkpoints.get(id) ?? null)
      }
    },
  ),
  storeFault(
    'no id is checked on getHead',
    class extends MemoryCheckpointStore {
      override async getHead(threadId: string): Promise<string | null> {
        return this.headOf(threadId)
      }
    },
  ),
  storeFault(
    'an invalid id lists nothing',
    class extends MemoryCheckpointStore {
      override async list(threadId: string): Promise<SandboxCheckpoint[]> {
        return threadId ? super.list(threadId) : []
      }
    },
  ),
  withoutIdChecks('no id is checked on append', 'appendChecks'),
  withoutIdChecks('no id is checked on deleteHead', 'deleteHeadChecks'),
  withoutIdChecks('no id is checked on forkFromCheckpoint', 'forkChecks'),
  storeFault(
    'ids may hold lone surrogates',
    class extends MemoryCheckpointStore {
      protected override checkIds(...ids: unknown[]): void {
        super.checkIds(...ids.map((id) => (typeof id === 'string' ? id.toWellFormed() : id)))
      }
    },
  ),
  storeFault(
    'ids with NUL are refused',
    class extends MemoryCheckpointStore {
      protected override checkIds(...ids: unknown[]): void {
        super.checkIds(...ids)
        if (ids.some((id) => String(id).includes('\0'))) throw new SandboxCheckpointInvalidIdError('NUL')
      }
    },
  ),
  storeFault(
    'ids have an upper length',
    class extends MemoryCheckpointStore {
      protected override checkIds(...ids: unknown[]): void {
        super.checkIds(...ids)
        if (ids.some((id) => String(id).length > 2_048)) throw new SandboxCheckpointInvalidIdError('too long')
      }
    },
  ),
  keyFault('ids are cut', (id) => id.slice(0, 1_000)),
  keyFault('ids are normalised', (id) => id.normalize()),
  keyFault('ids are compared without case', (id) => id.toLowerCase()),
  keyFault('ids are trimmed', (id) => id.trim()),
  keyFault('ids are percent-decoded', (id) => id.replaceAll('%2F', '/')),
  threadKeyFault('thread ids are cut', (id) => id.slice(0, 1_000)),
  threadKeyFault('thread ids are percent-decoded', (id) => id.replaceAll('%2F', '/')),

  listFault('the list is by time alone', (a, b) => a.createdAt - b.createdAt || textOrder(b.id, a.id)),
  listFault('the list is by id alone', (a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))),
  listFault('the list is by UTF-16 code units', (a, b) => a.createdAt - b.createdAt || textOrder(a.id, b.id)),
  listFault('the list is by locale', (a, b) => a.createdAt - b.createdAt || a.id.localeCompare(b.id)),
  listFault('the list is newest first', (a, b) => b.createdAt - a.createdAt || textOrder(a.id, b.id)),
  listFault('the list is by time as text', (a, b) => textOrder(String(a.createdAt), String(b.createdAt))),
  listFault(
    'the list is by whole milliseconds',
    (a, b) => Math.trunc(a.createdAt) - Math.trunc(b.createdAt) || textOrder(a.id, b.id),
  ),
  listFault(
    'the list tells -0 from 0',
    (a, b) => Number(Object.is(b.createdAt, -0)) - Number(Object.is(a.createdAt, -0)),
  ),
  storeFault(
    'the list is of the head alone',
    class extends MemoryCheckpointStore {
      override async list(threadId: string): Promise<SandboxCheckpoint[]> {
        return (await super.list(threadId)).filter(({ id }) => id === this.headOf(threadId))
      }
    },
  ),

  storeFault(
    'artifact keys are not counted',
    class extends MemoryCheckpointStore {
      protected override blobKeys(checkpoint: SandboxCheckpoint): Iterable<string> {
        return super.blobKeys({ ...checkpoint, artifacts: [] })
      }
    },
  ),
  storeFault(
    'a key is counted once for each entry',
    class extends MemoryCheckpointStore {
      protected override blobKeys({ files, artifacts }: SandboxCheckpoint): Iterable<string> {
        return [...files, ...artifacts].flatMap((each) => ('blobKey' in each ? [each.blobKey] : []))
      }
    },
  ),
  referencesFault('references are not sorted', (list) => list.toReversed()),
  referencesFault('references are at most 1,000', (list) => list.slice(0, 1_000)),
  referencesFault('a count is at most 2', (list) =>
    list.map((each) => ({ ...each, references: Math.min(each.references, 2) })),
  ),
  storeFault(
    'a deleted head is still counted',
    class extends MemoryCheckpointStore {
      readonly #deleted: SandboxCheckpoint[] = []
      override async deleteHead(input: SandboxCheckpointDeleteHeadInput): Promise<void> {
        const head = this.checkpoints.get(input.checkpointId)
        await super.deleteHead(input)
        if (head !== undefined) this.#deleted.push(head)
      }
      override async listBlobReferences(): Promise<SandboxBlobReference[]> {
        const counts = new Map((await super.listBlobReferences()).map(({ key, references }) => [key, references]))
        for (const head of this.#deleted) for (const key of this.blobKeys(head)) counts.set(key, counts.get(key) ?? 0)
        return [...counts]
          .map(([key, references]) => ({ key, references }))
          .sort((a, b) => this.compareText(a.key, b.key))
      }
    },
  ),

  storeFault(
    'get returns what the store holds',
    class extends MemoryCheckpointStore {
      override async get(id: string): Promise<SandboxCheckpoint | null> {
        this.checkIds(id)
        return this.checkpoints.get(id) ?? null
      }
    },
  ),
  storeFault(
    'list returns shallow copies',
    class extends MemoryCheckpointStore {
      override async list(threadId: string): Promise<SandboxCheckpoint[]> {
        return (await super.list(threadId)).map(({ id }) => ({ ...this.checkpoints.get(id) }) as SandboxCheckpoint)
      }
    },
  ),
  storeFault(
    'append keeps the object of the caller',
    class extends MemoryCheckpointStore {
      override async append(input: SandboxCheckpointAppendInput): Promise<{ headId: string }> {
        const answer = await super.append(input)
        this.checkpoints.set(answer.headId, { ...input.checkpoint, parentCheckpointId: input.expectedHeadId })
        return answer
      }
    },
  ),
  storeFault(
    'append reads the object of the caller only when it is about to store it',
    class extends MemoryCheckpointStore {
      override async append(input: SandboxCheckpointAppendInput): Promise<{ headId: string }> {
        await Promise.resolve()
        return super.append(input)
      }
    },
  ),
  storedFault('label is dropped', () => ({ label: undefined })),
  storedFault('sourceRunId is dropped', () => ({ sourceRunId: undefined })),
  storedFault('the conversation is dropped', () => ({ conversation: [] })),
  storedFault('artifacts are dropped', () => ({ artifacts: [] })),
  storedFault('unknown fields are dropped', () => ({ note: undefined })),
  storedFault('the reason is always automatic', () => ({ reason: 'automatic' })),
  storedFault('fractions of createdAt are dropped', ({ createdAt }) => ({ createdAt: Math.trunc(createdAt) })),
  storedFault('unknown fields of entries are dropped', ({ files }) => ({
    files: files.map((entry) => ({ ...entry, extra: undefined })),
  })),
  storedFault('modes are dropped', ({ files }) => ({ files: files.map((entry) => ({ ...entry, mode: undefined })) })),
  storedFault('targets are normalised', ({ files }) => ({
    files: files.map((entry) =>
      'target' in entry ? { ...entry, target: entry.target.replace('../..', '..') } : entry,
    ),
  })),
  storedFault('files are sorted', ({ files }) => ({ files: files.toSorted((a, b) => textOrder(a.path, b.path)) })),
  storedFault('lone surrogates in paths are replaced', ({ files }) => ({
    files: files.map((entry) => ({ ...entry, path: entry.path.toWellFormed() })),
  })),
  storedFault('lone surrogates in the label are replaced', ({ label }) => ({ label: label?.toWellFormed() })),
  storedFault('lone surrogates in the conversation are replaced', ({ conversation }) => ({
    conversation: JSON.parse(JSON.stringify(conversation).replace(/\\ud[89a-f]../g, '\ufffd')),
  })),
  storedFault('a missing parent stays missing', ({ parentCheckpointId }) => ({
    parentCheckpointId: parentCheckpointId ?? undefined,
  })),
]
