import { readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { SandkeepClient } from '../client/index.ts'
import { InvalidInputError } from '../src/errors.ts'
import type { SandboxRecord, SnapshotReason, SnapshotRecord } from '../src/sandboxes/types.ts'
import { RefusedError, UsageError } from './errors.ts'
import { quietProgress } from './progress.ts'
import { restoreLatest } from './run/restore-latest.ts'
import { NO_CONTENTS, WorkspaceSaver } from './run/saver.ts'
import { emptyFolder } from './run/workspace-folder.ts'
import { cacheFolder, stateFolder } from './settings.ts'
import { statCache } from './workspace/stat-cache.ts'

const DAY_SECONDS = 86_400

export interface OpenWorkspaceInput {
  client: Pick<SandkeepClient, 'blobs' | 'sandboxes'>
  taskId: string
  /** The folder, new or empty. */
  dir: string
  /** Of the sandbox. @default 'default' */
  profile?: string
  /** After this a sandbox that was not closed ends by itself, unless it is renewed. @default 86,400, a day */
  ttlSeconds?: number
  /** Told what a save leaves out because it cannot be kept, in a line each, once. @default `console.warn` */
  note?: (text: string) => void
}

export interface SaveWorkspaceOptions {
  /** @default 'autosave' */
  reason?: SnapshotReason
  /** Replaces what was kept beside the files: any JSON values. @default as it was */
  conversation?: ReadonlyArray<unknown>
}

/** A task's workspace in a folder. Saves may be asked for at any time; they are done one after the other. */
export interface Workspace {
  /** The folder: an absolute path. */
  readonly path: string
  readonly sandbox: SandboxRecord
  /** What was saved with the workspace that it began with; empty where there was none. */
  readonly conversation: ReadonlyArray<unknown>
  /**
   * Saves the folder as it is now, by the rules of `sandkeep push`. Reads what has changed since the last save, uploads
   * what is new, and answers with that last snapshot when there is nothing new and no conversation is given.
   * @throws SandkeepHttpError and SandkeepNetworkError; what reading the folder or sending it to the storage throws
   */
  save(options?: SaveWorkspaceOptions): Promise<SnapshotRecord>
  /** Saves a last time and destroys the sandbox; the folder stays. Where it throws it may be called again. */
  close(options?: Pick<SaveWorkspaceOptions, 'conversation'>): Promise<SnapshotRecord>
}

/**
 * Creates a sandbox of a task and fills a folder with the task's latest workspace, for a program that works there
 * itself, as `sandkeep run` does for a command.
 * @throws InvalidInputError when the folder is not new or empty; SandkeepHttpError and SandkeepNetworkError; what
 *   fetching the files or writing them throws. Then there is no sandbox, and the folder is empty.
 */
export async function openWorkspace(input: OpenWorkspaceInput): Promise<Workspace> {
  const { client, taskId, profile = 'default', ttlSeconds = DAY_SECONDS, note = console.warn } = input
  const root = await openFolder(input.dir)
  const { sandbox } = await client.sandboxes
    .create({ profile, taskId, restoreLatest: true, ttlSeconds })
    .catch(async (error: unknown) => {
      await empty(root).catch(() => undefined)
      throw error
    })
  const cache = statCache(cacheFolder(process.env), root)
  const begun = statCache(join(cacheFolder(process.env), 'begun'), root)
  const { signal } = new AbortController()
  try {
    const contents = sandbox.restore
      ? await restoreLatest({
          client,
          snapshot: sandbox.restore,
          root,
          cache,
          begun,
          stateFolder: stateFolder(process.env),
          signal,
          progress: quietProgress(note),
        })
      : NO_CONTENTS
    const saver = new WorkspaceSaver({
      client,
      sandboxId: sandbox.sandboxId,
      root,
      cache,
      begun,
      contents,
      signal,
      note,
    })
    return {
      path: root,
      sandbox,
      conversation: contents.conversation,
      save: ({ reason = 'autosave', conversation } = {}) => saver.save(reason, conversation),
      async close({ conversation } = {}) {
        const snapshot = await saver.save('destroy', conversation)
        await client.sandboxes.destroy(sandbox.sandboxId)
        return snapshot
      },
    }
  } catch (error) {
    // Where this fails the sandbox expires.
    await client.sandboxes.destroy(sandbox.sandboxId).catch(() => undefined)
    await empty(root).catch(() => undefined)
    throw error
  }
}

async function empty(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true })
}

async function openFolder(dir: string): Promise<string> {
  try {
    return await emptyFolder(resolve(dir))
  } catch (cause) {
    if (!(cause instanceof RefusedError || cause instanceof UsageError)) throw cause
    throw new InvalidInputError('dir', cause.message, { cause })
  }
}
