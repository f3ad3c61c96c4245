import type { BlobExchange } from '../../src/blobs/types.ts'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { BlobsMissingError } from '../../src/errors.ts'
import type { SaveSnapshotInput, SnapshotReason, SnapshotRecord } from '../../src/sandboxes/types.ts'
import { printablePath } from '../format.ts'
import type { Progress } from '../progress.ts'
import { createTransport } from '../transfer/transport.ts'
import { captureWorkspace } from '../workspace/capture.ts'
import type { StatCache } from '../workspace/stat-cache.ts'
import { isRunsOwn } from './summary.ts'

/** How often a save is tried whose blobs were swept between their upload and the save. */
const ATTEMPTS = 3

type Entries = ReadonlyArray<SandboxSnapshotEntry>

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
  /** What the sandbox's last snapshot holds, or what the workspace began with. */
  entries: Entries
  signal: AbortSignal
  note: (text: string) => void
}

/** Saves a workspace as snapshots of its sandbox, one after the other. */
export class WorkspaceSaver {
  readonly #input: SaverInput
  readonly #noted = new Set<string>()
  #entries: Entries
  #underWay: Promise<SnapshotRecord | null> | undefined
  #latest: SnapshotRecord | null = null

  constructor(input: SaverInput) {
    this.#input = input
    this.#entries = input.entries
  }

  /** What the service has of the workspace. */
  get entries(): Entries {
    return this.#entries
  }

  /** Saves what has changed, unless a save is under way. Null when there was nothing to do. */
  async autosave(): Promise<SnapshotRecord | null> {
    return this.#underWay ? null : this.#begin('autosave', false)
  }

  /** The workspace as it is now, as a snapshot: a new one, or that of a save after which nothing changed. */
  async save(reason: SnapshotReason): Promise<SnapshotRecord> {
    // How that one ends is told to who began it.
    await this.#underWay?.catch(() => undefined)
    const saved = await this.#begin(reason, this.#latest === null)
    if (saved ?? this.#latest) return (saved ?? this.#latest) as SnapshotRecord
    throw new Error('A first save always makes a snapshot.')
  }

  #begin(reason: SnapshotReason, always: boolean): Promise<SnapshotRecord | null> {
    const saving = this.#save(reason, always).finally(() => {
      this.#underWay = undefined
    })
    this.#underWay = saving
    return saving
  }

  async #save(reason: SnapshotReason, always: boolean): Promise<SnapshotRecord | null> {
    const { client, sandboxId } = this.#input
    let parent = this.#entries
    for (let attempt = 1; ; attempt += 1) {
      const captured = await this.#capture(parent)
      if (!captured.changed && !always) return null
      try {
        this.#latest = await client.sandboxes.saveSnapshot(sandboxId, { reason, files: captured.files })
        this.#entries = captured.files
        return this.#latest
      } catch (error) {
        if (!(error instanceof BlobsMissingError) || attempt === ATTEMPTS) throw error
        // Takes nothing for granted the next time.
        parent = []
      }
    }
  }

  async #capture(parent: Entries) {
    const { client, root, cache, signal } = this.#input
    const transport = createTransport()
    try {
      const captured = await captureWorkspace({
        root,
        parent: Promise.resolve(parent),
        cache,
        blobs: client.blobs,
        transport,
        skipUnsupported: true,
        skipRestless: true,
        leavesOut: isRunsOwn,
        signal,
        progress: this.#progress(),
      })
      for (const path of captured.restless) {
        this.#note(`not saved as it is now: ${printablePath(path)}: it keeps changing while it is read`)
      }
      return captured
    } finally {
      transport.close()
    }
  }

  /** The command has the terminal: no bars, and each note once. */
  #progress(): Progress {
    const nothing = () => undefined
    return { note: (text) => this.#note(text), start: nothing, add: nothing, advance: nothing, stop: nothing }
  }

  #note(text: string): void {
    if (this.#noted.has(text)) return
    this.#noted.add(text)
    this.#input.note(text)
  }
}
