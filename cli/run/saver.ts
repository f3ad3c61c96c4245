import type { BlobExchange } from '../../src/blobs/types.ts'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { BlobsMissingError } from '../../src/errors.ts'
import type {
  SaveSnapshotInput,
  SnapshotManifest,
  SnapshotName,
  SnapshotReason,
  SnapshotRecord,
} from '../../src/sandboxes/types.ts'
import { printablePath } from '../format.ts'
import { quietProgress } from '../progress.ts'
import { createTransport } from '../transfer/transport.ts'
import { captureWorkspace } from '../workspace/capture.ts'
import type { StatCache } from '../workspace/stat-cache.ts'
import { isRunsOwn } from './summary.ts'

/** How often a save is tried whose blobs were swept between their upload and the save. */
const ATTEMPTS = 3

type Entries = ReadonlyArray<SandboxSnapshotEntry>

/** What a snapshot holds. */
export type Contents = Pick<SnapshotManifest, 'files' | 'artifacts' | 'conversation'>

export const NO_CONTENTS: Contents = { files: [], artifacts: [], conversation: [] }

export interface SaverInput {
  client: {
    blobs: BlobExchange
    sandboxes: { saveSnapshot(sandboxId: string, input: SaveSnapshotInput): Promise<SnapshotRecord> }
  }
  sandboxId: string
  /** The workspace: an absolute path, no link. */
  root: string
  /** Of the workspace. */
  cache: StatCache
  /**
   * What was known of it before anything was written to it. For the last save no more counts: a file that is written to
   * through a memory map may have the same times as when an earlier save read it.
   */
  begun: StatCache
  /** What the sandbox's last snapshot holds, or what the workspace began with. Artifacts and conversation are kept. */
  contents: Contents
  /**
   * Of a save by itself: the snapshot that it may take the place of as the latest of the task; null for none.
   * @default whatever older sandboxes have saved
   */
  ifLatest?: SnapshotName | null
  signal: AbortSignal
  note: (text: string) => void
}

/** Saves a workspace as snapshots of its sandbox, one after the other. */
export class WorkspaceSaver {
  readonly #input: SaverInput
  readonly #noted = new Set<string>()
  #contents: Contents
  #underWay: Promise<SnapshotRecord | null> | undefined
  #latest: SnapshotRecord | null = null

  constructor(input: SaverInput) {
    this.#input = input
    this.#contents = input.contents
  }

  /** What the service has of the workspace. */
  get entries(): Entries {
    return this.#contents.files
  }

  /** Saves what has changed, unless a save is under way. Null when there was nothing to do. */
  async autosave(): Promise<SnapshotRecord | null> {
    return this.#underWay ? null : this.#begin('autosave', this.#contents.conversation, false)
  }

  /**
   * The workspace as it is now, as a snapshot: a new one, or that of a save after which nothing changed. A conversation
   * replaces the one before, and makes a new snapshot.
   */
  async save(reason: SnapshotReason, conversation?: ReadonlyArray<unknown>): Promise<SnapshotRecord> {
    // How that one ends is told to who began it.
    while (this.#underWay) await this.#underWay.catch(() => undefined)
    const always = this.#latest === null || conversation !== undefined
    const saved = await this.#begin(reason, conversation ?? this.#contents.conversation, always)
    if (saved ?? this.#latest) return (saved ?? this.#latest) as SnapshotRecord
    throw new Error('A first save always makes a snapshot.')
  }

  #begin(
    reason: SnapshotReason,
    conversation: ReadonlyArray<unknown>,
    always: boolean,
  ): Promise<SnapshotRecord | null> {
    const saving = this.#save(reason, conversation, always).finally(() => {
      this.#underWay = undefined
    })
    this.#underWay = saving
    return saving
  }

  async #save(
    reason: SnapshotReason,
    conversation: ReadonlyArray<unknown>,
    always: boolean,
  ): Promise<SnapshotRecord | null> {
    const { client, sandboxId, ifLatest } = this.#input
    const { artifacts } = this.#contents
    const cache = reason === 'destroy' ? this.#input.begun : this.#input.cache
    let parent = this.#contents.files
    for (let attempt = 1; ; attempt += 1) {
      const captured = await this.#capture(cache, parent, attempt > 1)
      if (!captured.changed && !always) return null
      try {
        const contents = { files: captured.files, artifacts, conversation }
        this.#latest = await client.sandboxes.saveSnapshot(sandboxId, { reason, ...contents, ifLatest })
        this.#contents = contents
        return this.#latest
      } catch (error) {
        if (!(error instanceof BlobsMissingError) || attempt === ATTEMPTS) throw error
        // What is not there cannot stand for a file that does not hold still.
        const missing = new Set(error.keys)
        parent = parent.filter((entry) => entry.kind !== 'file' || !missing.has(entry.blobKey))
      }
    }
  }

  async #capture(cache: StatCache, parent: Entries, asksForAll: boolean) {
    const { client, root, signal } = this.#input
    const transport = createTransport()
    try {
      const captured = await captureWorkspace({
        root,
        parent: Promise.resolve(parent),
        asksForAll,
        cache,
        blobs: client.blobs,
        transport,
        skipUnsupported: true,
        skipRestless: true,
        leavesOut: isRunsOwn,
        signal,
        progress: quietProgress((text) => this.#note(text)),
      })
      for (const path of captured.restless) {
        this.#note(`not saved as it is now: ${printablePath(path)}: it keeps changing while it is read`)
      }
      return captured
    } finally {
      transport.close()
    }
  }

  /** Each note once. */
  #note(text: string): void {
    if (this.#noted.has(text)) return
    this.#noted.add(text)
    this.#input.note(text)
  }
}
