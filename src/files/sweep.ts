import pMap from 'p-map'
import { FILE_ITEMS, filesPartition } from '../table/keys.ts'
import type { Item, Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import { AnthropicFilesApi } from './anthropic-api.ts'
import { createContext, type FilesConfig } from './context.ts'
import { type FileEntry, isLive, readEntry } from './items.ts'
import { type FilesContext, forget, removeBytes } from './removal.ts'
import { clearObjects } from './sweep-objects.ts'
import { ProviderCheck, removeHalfDone } from './sweep-provider.ts'

export interface FilesSweepInput extends FilesConfig {
  scope: Scope
  table: Table
  /** Whether to stop, so that a later sweep goes on. */
  timeIsUp: () => boolean
}

/** Files that are cleared at a time. */
const CONCURRENCY = 16

export interface FilesSweepResult {
  /** Files whose time was over, bytes that no file has, uploads that ended half-way. */
  cleared: number
  /** What could not be cleared; the next sweep tries it again. */
  failures: Array<{ key: string; reason: string }>
}

/**
 * Clears the files of a scope: those whose time is over, the bytes of deleted ones, and what half-done uploads have left
 * in the bucket or with the provider. It may run at any time, and twice at once; killed, the next one goes on.
 * @throws what reading the table or the bucket throws: nothing is taken for gone because a list broke off
 */
export async function sweepFiles(input: FilesSweepInput): Promise<FilesSweepResult> {
  return new FilesSweep(input).run()
}

class FilesSweep {
  readonly #input: FilesSweepInput
  readonly #context: FilesContext
  readonly #result: FilesSweepResult = { cleared: 0, failures: [] }

  constructor(input: FilesSweepInput) {
    this.#input = input
    this.#context = createContext(input)
  }

  async run(): Promise<FilesSweepResult> {
    const { anthropic, timeIsUp } = this.#input
    const api = anthropic && new AnthropicFilesApi(anthropic)
    const check = api && new ProviderCheck(this.#context, api)
    for await (const page of pagesOf(this.#context)) {
      if (timeIsUp()) return this.#result
      await pMap(page, (item) => this.#clear(item), { concurrency: CONCURRENCY })
      if (!check) continue
      const ofProvider = page.map(readEntry).filter((entry) => entry.backend === 'anthropic')
      const live = ofProvider.filter((entry) => isLive(entry, this.#context.now()))
      for (const entry of live) await this.#attempt('provider', () => check.add(entry))
    }
    await this.#attempt('objects', () => clearObjects({ ...this.#input, ...this.#context }))
    if (check) await this.#attempt('provider', () => check.finish())
    if (api) await this.#attempt('provider', () => removeHalfDone(this.#context, api))
    return this.#result
  }

  /** What is left of a deleted file, and a file whose time is over. */
  async #clear(item: Item): Promise<void> {
    const entry = readEntry(item)
    if (entry.deletedAt === undefined && isLive(entry, this.#context.now())) return
    if (entry.deletedAt === undefined) await this.#attempt(entry.id, () => this.#expire(entry))
    else if (item.removed !== true) await this.#attempt(entry.id, () => this.#removeBytes(entry))
  }

  async #expire(entry: FileEntry): Promise<number> {
    if (!(await forget(this.#context, entry))) return 0
    await this.#removeBytes(entry)
    return 1
  }

  /** Those of a backend that is set up no more stay where they are. */
  async #removeBytes(entry: FileEntry): Promise<number> {
    if (!this.#context.backends[entry.backend]) return 0
    await removeBytes(this.#context, entry)
    return 1
  }

  /** Work that fails does not keep the rest from being done. @param work gives how much it has cleared */
  async #attempt(key: string, work: () => Promise<number>): Promise<void> {
    try {
      const cleared = await work()
      this.#result.cleared += cleared
    } catch (error) {
      this.#result.failures.push({ key, reason: error instanceof Error ? error.message : String(error) })
    }
  }
}

function pagesOf({ table, scope }: FilesContext): AsyncGenerator<Item[]> {
  return table.query(filesPartition(scope), { prefix: FILE_ITEMS })
}
