import type { TaskRecord } from '../../../src/memory/types.ts'

interface ModelArtifact {
  text: string
  contentType: string
  createdAt: number
  updatedAt: number
}

interface ModelTurn {
  meta: string
  summary: string
  createdAt: number
  updatedAt: number
  artifacts: Map<string, ModelArtifact>
}

interface ModelTask {
  createdBy: string
  createdAt: number
  updatedAt: number
  retainUntil: number
  turns: Map<number, ModelTurn>
}

/** The memory of a project as one would write it down: everything in one place, one call after the other. */
export class MemoryModel {
  readonly #tasks = new Map<string, ModelTask>()
  readonly #retentionMs: number
  now: number

  constructor(now: number, retentionMs: number) {
    this.now = now
    this.#retentionMs = retentionMs
  }

  putTurn(taskId: string, turn: number, meta: string, summary: string, by: string) {
    const { now } = this
    const known = this.#turnToWrite(taskId, turn, by)
    Object.assign(known, { meta, summary, updatedAt: now })
    return this.getTurn(taskId, turn)
  }

  putArtifact(taskId: string, turn: number, name: string, text: string, contentType: string, by: string): void {
    const { now } = this
    const known = this.#turnToWrite(taskId, turn, by)
    const createdAt = known.artifacts.get(name)?.createdAt ?? now
    known.artifacts.set(name, { text, contentType, createdAt, updatedAt: now })
    known.updatedAt = now
  }

  #turnToWrite(taskId: string, turn: number, by: string): ModelTurn {
    const { now } = this
    const task = this.#live(taskId) ?? {
      createdBy: by,
      createdAt: now,
      updatedAt: now,
      retainUntil: 0,
      turns: new Map(),
    }
    this.#tasks.set(taskId, task)
    task.updatedAt = now
    task.retainUntil = now + this.#retentionMs
    const known = task.turns.get(turn) ?? {
      meta: '{}',
      summary: '',
      createdAt: now,
      updatedAt: now,
      artifacts: new Map(),
    }
    task.turns.set(turn, known)
    return known
  }

  getTurn(taskId: string, turn: number) {
    const task = this.#live(taskId)
    const known = task?.turns.get(turn)
    if (!task || !known) return null
    const { meta, summary, createdAt, updatedAt, artifacts } = known
    return {
      ...{ taskId, turn, meta, summaryMd: summary, createdAt, updatedAt, retainUntil: task.retainUntil },
      artifacts: sorted(artifacts).map(([name, artifact]) => ({
        name,
        sizeBytes: Buffer.byteLength(artifact.text),
        contentType: artifact.contentType,
        createdAt: artifact.createdAt,
        updatedAt: artifact.updatedAt,
      })),
    }
  }

  text(taskId: string, turn: number, name: string): string | null {
    return this.#live(taskId)?.turns.get(turn)?.artifacts.get(name)?.text ?? null
  }

  task(taskId: string): TaskRecord | null {
    const task = this.#live(taskId)
    if (!task) return null
    const { turns, ...times } = task
    return { taskId, latestTurn: Math.max(...turns.keys()), turnCount: turns.size, ...times }
  }

  turns(taskId: string): number[] {
    return [...(this.#live(taskId)?.turns.keys() ?? [])].sort((left, right) => left - right)
  }

  tasks(): TaskRecord[] {
    return [...this.#tasks.keys()].sort().flatMap((taskId) => this.task(taskId) ?? [])
  }

  /** @returns whether it was refused */
  deleteTask(taskId: string, by: string): boolean {
    const task = this.#live(taskId)
    if (task && task.createdBy !== by) return true
    this.#tasks.delete(taskId)
    return false
  }

  projectMd(): string {
    const sections = this.tasks()
      .toSorted((left, right) => right.updatedAt - left.updatedAt)
      .map(({ taskId, latestTurn, turnCount, updatedAt }) => {
        const summaries = this.turns(taskId).map((turn) => this.getTurn(taskId, turn)?.summaryMd ?? '')
        const newest = summaries.findLast((summary) => summary !== '')
        const updated = new Date(updatedAt).toISOString()
        const lines = [`- Latest turn: ${latestTurn}`, `- Turns: ${turnCount}`, `- Updated: ${updated}`]
        return `\n## ${taskId}\n\n${lines.join('\n')}\n${newest === undefined ? '' : `\n${newest.slice(0, 2_000)}\n`}`
      })
    return `# Project memory\n${sections.join('')}`
  }

  #live(taskId: string): ModelTask | undefined {
    const task = this.#tasks.get(taskId)
    return task && this.now < task.retainUntil ? task : undefined
  }
}

function sorted<T>(map: Map<string, T>): Array<[string, T]> {
  return [...map].sort(([left], [right]) => (left < right ? -1 : 1))
}
