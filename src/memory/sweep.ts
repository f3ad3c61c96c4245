import type { S3Client } from '@aws-sdk/client-s3'
import { memoryObjectPrefix, readMemoryObjectKey } from '../blobs/object-keys.ts'
import { deadTaskPartition, taskPartition, turnEndSortKey, turnPartition } from '../table/keys.ts'
import type { Item, Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import { removeOldUploads } from '../uploads/uploads.ts'
import { type ArtifactItem, type IndexItem, isLive, readTask } from './items.ts'
import { type ListedObject, MemoryObjects, type ObjectFailure } from './objects.ts'
import { buryExpired, clearDeadTask, type DeadTask } from './remove.ts'

export interface MemorySweepInput {
  table: Table
  s3: S3Client
  bucketName: string
  scope: Scope
  /** Milliseconds since the epoch. */
  now: () => number
  /** Whether to stop, so that a later run goes on. */
  timeIsUp: () => boolean
  /** Where an earlier run stopped. */
  after?: string | undefined
}

export interface MemorySweepResult {
  /** Tasks, objects that nothing refers to, and uploads that nobody can complete. */
  cleared: number
  bytesFreed: number
  /** What S3 would not delete: the next sweep tries it again. */
  failures: ObjectFailure[]
  /** Requests to S3. */
  lists: number
  deletes: number
  /** Set when the time was up before all was done: give it to the run that goes on. */
  resumeAfter?: string
}

/**
 * An object is there before what refers to it. None of this age can come to be referred to: requests last minutes, and
 * uploads are open for 12 hours.
 */
const UNREFERENCED_MS = 86_400_000

/**
 * Clears the memory of a scope: tasks whose time is over, what is left of deleted ones, objects that nothing refers to,
 * and old uploads. It may run at any time, and twice at once; killed, the next one goes on.
 * @throws what reading the table or the bucket throws: nothing is taken for unused because a list broke off
 */
export async function sweepMemory(input: MemorySweepInput): Promise<MemorySweepResult> {
  return new MemorySweep(input).run()
}

class MemorySweep {
  readonly #input: MemorySweepInput
  readonly #objects: MemoryObjects
  readonly #failures: ObjectFailure[] = []
  #cleared = 0
  #bytesFreed = 0

  constructor(input: MemorySweepInput) {
    this.#input = input
    this.#objects = new MemoryObjects(input.s3, input.bucketName)
  }

  async run(): Promise<MemorySweepResult> {
    const { table, scope, now, after = '' } = this.#input
    if (!(await this.#buryExpired()) || !(await this.#clearDead())) return this.#result(after)
    this.#cleared += await removeOldUploads(table, scope, now())
    return this.#result(await this.#clearObjects(after))
  }

  /** False: the time was up. */
  async #buryExpired(): Promise<boolean> {
    const { table, scope, now, timeIsUp } = this.#input
    for await (const items of table.query(taskPartition(scope))) {
      for (const task of items.map(readTask)) {
        if (isLive(task, now())) continue
        await buryExpired(this.#input, task)
        if (timeIsUp()) return false
      }
    }
    return true
  }

  /** False: the time was up. */
  async #clearDead(): Promise<boolean> {
    const { table, scope, timeIsUp } = this.#input
    for await (const items of table.query(deadTaskPartition(scope))) {
      for (const dead of items) {
        const { done, bytesFreed, failures } = await clearDeadTask(
          { table, scope, objects: this.#objects },
          dead as unknown as DeadTask,
          timeIsUp,
        )
        this.#bytesFreed += bytesFreed
        this.#failures.push(...failures)
        if (done) this.#cleared += 1
        else if (failures.length === 0) return false
      }
    }
    return true
  }

  /** @returns the key up to which all is done when the time was up */
  async #clearObjects(after: string): Promise<string | undefined> {
    const { scope, now, timeIsUp } = this.#input
    const before = now() - UNREFERENCED_MS
    for await (const listed of this.#objects.list(memoryObjectPrefix(scope), after === '' ? undefined : after)) {
      const unused = await this.#unreferenced(listed.filter(({ uploadedAt }) => uploadedAt < before))
      const failures = await this.#objects.delete(unused.map(({ key }) => key))
      const failed = new Set(failures.map(({ key }) => key))
      const gone = unused.filter(({ key }) => !failed.has(key))
      this.#failures.push(...failures)
      this.#cleared += gone.length
      this.#bytesFreed += gone.reduce((sum, { size }) => sum + size, 0)
      const last = listed.at(-1)?.key
      if (last !== undefined && timeIsUp()) return last
    }
    return undefined
  }

  async #unreferenced(listed: ListedObject[]): Promise<ListedObject[]> {
    const byTask = new Map<string, Array<{ listed: ListedObject; object: string; turn: number }>>()
    for (const each of listed) {
      const place = readMemoryObjectKey(this.#input.scope, each.key)
      if (!place) continue
      const { taskId, ...rest } = place
      byTask.set(taskId, [...(byTask.get(taskId) ?? []), { ...rest, listed: each }])
    }
    const unused: ListedObject[] = []
    for (const [taskId, candidates] of byTask) {
      const turns = candidates.map(({ turn }) => turn)
      const used = await this.#references(taskId, Math.min(...turns), Math.max(...turns))
      unused.push(...candidates.filter(({ object }) => !used.has(object)).map((candidate) => candidate.listed))
    }
    return unused
  }

  /** The names of the objects that items of a task's turns refer to, from one turn to another. */
  async #references(taskId: string, first: number, last: number): Promise<Set<string>> {
    const { table, scope } = this.#input
    const used = new Set<string>()
    const attributes = ['sk', 'summaryObject', 'artifacts', 'artifact']
    const options = { attributes, ...(first > 0 && { after: turnEndSortKey(first - 1) }) }
    for await (const items of table.query(turnPartition(scope, taskId), options)) {
      for (const item of items) {
        if ((item.sk as string) > turnEndSortKey(last)) return used
        for (const object of objectsOf(item)) used.add(object)
      }
    }
    return used
  }

  #result(resumeAfter: string | undefined): MemorySweepResult {
    return {
      cleared: this.#cleared,
      bytesFreed: this.#bytesFreed,
      failures: this.#failures,
      lists: this.#objects.lists,
      deletes: this.#objects.deletes,
      ...(resumeAfter !== undefined && { resumeAfter }),
    }
  }
}

function objectsOf(item: Item): string[] {
  const { summaryObject, artifacts, artifact } = item as Partial<IndexItem & ArtifactItem & { summaryObject: string }>
  return [
    ...(summaryObject === undefined ? [] : [summaryObject]),
    ...Object.values(artifacts ?? {}).map(({ object }) => object),
    ...(artifact ? [artifact.object] : []),
  ]
}
