import { fileIntentKey, filesPartition, providerClaimKey } from '../table/keys.ts'
import { retryTransient } from '../table/transient.ts'
import { type AnthropicFile, type AnthropicFilesApi, IDS_LIMIT } from './anthropic-api.ts'
import { readIntents, type UploadIntent } from './anthropic-backend.ts'
import type { FileEntry } from './items.ts'
import { type FilesContext, forget, noteRemoved } from './removal.ts'

/** Finds the files that the provider has no more, and deletes them here too. */
export class ProviderCheck {
  readonly #context: FilesContext
  readonly #api: AnthropicFilesApi
  #waiting: FileEntry[] = []
  #missing: FileEntry[] = []
  #known = 0

  constructor(context: FilesContext, api: AnthropicFilesApi) {
    this.#context = context
    this.#api = api
  }

  /** @returns 0: nothing is cleared before all are looked at */
  async add(entry: FileEntry): Promise<number> {
    this.#waiting.push(entry)
    if (this.#waiting.length === IDS_LIMIT) await this.#ask()
    return 0
  }

  /**
   * @returns how many files went
   * @throws Error when the provider knows none of them: its key is of another workspace then, and nothing is deleted
   */
  async finish(): Promise<number> {
    await this.#ask()
    if (this.#missing.length > 0 && this.#known === 0) {
      throw new Error('The provider knows no file of this project. Is its key of another workspace?')
    }
    let cleared = 0
    for (const entry of this.#missing) {
      // A list may leave out what is there; only this is certain.
      if (await this.#api.get(entry.id)) continue
      if (!(await forget(this.#context, entry))) continue
      await noteRemoved(this.#context, entry)
      cleared += 1
    }
    return cleared
  }

  async #ask(): Promise<void> {
    const asked = this.#waiting
    this.#waiting = []
    if (asked.length === 0) return
    const known = new Set((await this.#api.getSome(asked.map(({ id }) => id))).map(({ id }) => id))
    this.#known += known.size
    this.#missing.push(...asked.filter(({ id }) => !known.has(id)))
  }
}

/** Longer than any request takes: an intent as old as that is of an upload that has ended. */
const ENDED_MS = 3_600_000
/** How far the provider's clock may be from ours, and how long after the intent its file can have been made. */
const SKEW_MS = 300_000
const UPLOAD_MS = 900_000

/**
 * Removes from the provider what uploads have left there that ended before their files were recorded. What it removes
 * has the name, the size and the exact life time of such an upload, was made while that was under way, and belongs to no
 * project of this table.
 * @returns how many uploads are settled now
 */
export async function removeHalfDone({ table, scope, now }: FilesContext, api: AnthropicFilesApi): Promise<number> {
  const intents = await readIntents(table, filesPartition(scope))
  const ended = intents.filter(({ startedAt }) => startedAt < now() - ENDED_MS)
  const [oldest] = ended
  if (!oldest) return 0
  for await (const files of api.list()) {
    for (const file of files) {
      if (!ended.some((intent) => isOf(intent, file))) continue
      const claim = await retryTransient(() => table.get(providerClaimKey(file.id)))
      if (!claim) await api.delete(file.id)
    }
    // The newest come first.
    if (files.some(({ createdAt }) => createdAt < oldest.startedAt - SKEW_MS)) break
  }
  for (const { name } of ended) await retryTransient(() => table.delete(fileIntentKey(scope, name)))
  return ended.length
}

function isOf({ startedAt, filename, sizeBytes, expiresInSeconds }: UploadIntent, file: AnthropicFile): boolean {
  const lifeSeconds = file.expiresAt === null ? 0 : (file.expiresAt - file.createdAt) / 1_000
  return (
    file.filename === filename &&
    file.sizeBytes === sizeBytes &&
    Math.abs(lifeSeconds - expiresInSeconds) <= 1 &&
    file.createdAt >= startedAt - SKEW_MS &&
    file.createdAt <= startedAt + UPLOAD_MS
  )
}
