import { closeSync, constants, fchmodSync, openSync, writeSync } from 'node:fs'
import { chmod, copyFile, open } from 'node:fs/promises'
import type { SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { Pace } from './pace.ts'
import { join } from './paths.ts'

/** A content that is to be made ready, and the files that have it. */
export interface WantedContent {
  size: number
  files: ReadonlyArray<SandboxSnapshotFileEntry>
  /** Where the content lies ready, for the first of the files. */
  path: string
}

/** The folder in which the files of a restore are made ready, each with its mode. */
export class StagedFiles {
  /** Contents that are not ready yet, by blob key. */
  readonly wanted = new Map<string, WantedContent>()
  /** Where each file lies ready: path to staged file. */
  readonly ready = new Map<string, string>()
  readonly #onBlob: (bytes: number) => void
  readonly #pace = new Pace()

  /** `onBlob`: told of each content that is there. */
  constructor(folder: string, files: ReadonlyArray<SandboxSnapshotFileEntry>, onBlob: (bytes: number) => void) {
    this.#onBlob = onBlob
    const byKey = new Map<string, SandboxSnapshotFileEntry[]>()
    for (const file of files) {
      const same = byKey.get(file.blobKey)
      if (same === undefined) byKey.set(file.blobKey, [file])
      else same.push(file)
    }
    for (const [key, same] of byKey) {
      const path = join(folder, String(this.wanted.size))
      this.wanted.set(key, { size: same[0]?.size ?? 0, files: same, path })
    }
  }

  /**
   * Writes a content from memory into all its files. The bytes must have been checked. As long as the file system is
   * quick about it this is done at once, and nothing is returned: the few system calls of a small file take several
   * times as long as tasks of the thread pool. Where they are slow, several threads get on with several files.
   */
  write(key: string, bytes: Uint8Array): Promise<void> | undefined {
    const wanted = this.wanted.get(key)
    if (wanted === undefined) return undefined
    if (this.#pace.isSlow) return this.#writeLater(key, wanted, bytes)
    const start = performance.now()
    for (const [index, file] of wanted.files.entries()) {
      const own = ownPath(wanted, index)
      writeFile(own, bytes, modeFor(file.mode))
      this.ready.set(file.path, own)
    }
    this.#pace.note((performance.now() - start) / wanted.files.length)
    this.#settle(key, wanted)
    return undefined
  }

  async #writeLater(key: string, wanted: WantedContent, bytes: Uint8Array): Promise<void> {
    for (const [index, file] of wanted.files.entries()) {
      const own = ownPath(wanted, index)
      const handle = await open(own, 'w', 0o600)
      try {
        await handle.writeFile(bytes)
        await handle.chmod(modeFor(file.mode))
      } finally {
        await handle.close()
      }
      this.ready.set(file.path, own)
    }
    this.#settle(key, wanted)
  }

  /** Gives each file its own copy of a content that lies ready and was checked; the first takes the one that is there. */
  async spread(key: string): Promise<void> {
    const wanted = this.wanted.get(key)
    if (wanted === undefined) return
    for (const [index, { path, mode }] of [...wanted.files.entries()].reverse()) {
      const own = ownPath(wanted, index)
      if (index > 0) await copyFile(wanted.path, own, constants.COPYFILE_FICLONE)
      await chmod(own, modeFor(mode))
      this.ready.set(path, own)
    }
    this.#settle(key, wanted)
  }

  #settle(key: string, { size }: WantedContent): void {
    this.wanted.delete(key)
    this.#onBlob(size)
  }
}

function ownPath({ path }: WantedContent, index: number): string {
  return index === 0 ? path : `${path}.${index}`
}

/** Makes a file anew; until its mode is set only the caller can read it. */
function writeFile(path: string, bytes: Uint8Array, mode: number): void {
  // A try before that failed half-way may have left it.
  const descriptor = openSync(path, 'w', 0o600)
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written)
    fchmodSync(descriptor, mode)
  } finally {
    closeSync(descriptor)
  }
}

/** Set-user-id and the like are not restored: they would hand on the rights of whoever restores. */
function modeFor(mode: number | undefined): number {
  return mode === undefined ? 0o666 & ~process.umask() : mode & 0o777
}
