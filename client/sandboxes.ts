import { randomUUID } from 'node:crypto'
import type { SnapshotDownloads } from '../src/bundles/types.ts'
import type {
  CreateSandboxInput,
  SandboxRecord,
  SandboxStatus,
  SaveSnapshotInput,
  SnapshotManifest,
  SnapshotName,
  SnapshotRecord,
} from '../src/sandboxes/types.ts'
import { type DownloadsJson, readDownloads } from './downloads-json.ts'
import { orNull } from './or-null.ts'
import {
  createJson,
  type ManifestJson,
  readManifest,
  readSandbox,
  readSnapshot,
  type SandboxJson,
  type SnapshotJson,
} from './sandboxes-json.ts'
import type { Transport } from './transport.ts'

const BASE = '/sandbox/sandboxes/v1'

/** `createdBy` is the `sub` of the token, or the id of the API key. */
export type Sandbox = SandboxRecord
export type CreateSandboxOptions = Omit<CreateSandboxInput, 'by'>

export interface ListSandboxesOptions {
  /** Only those of this workspace key. */
  taskId?: string
  status?: SandboxStatus
  /** 1 to 1,000. Default 100. */
  limit?: number
  /** The `nextPage` of the page before. */
  page?: string
}

export type ListSnapshotsOptions = Pick<ListSandboxesOptions, 'limit' | 'page'>

/**
 * Sandboxes and the snapshots of their workspaces, over the API. Every method throws SandkeepHttpError and
 * SandkeepNetworkError; a sandbox that is not there is one with the code `not_found`, unless it says otherwise.
 */
export class ClientSandboxes {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Without `reuse` it is sent once: a repeat after a lost answer would make another sandbox. */
  async create(input: CreateSandboxOptions): Promise<{ sandbox: Sandbox; reused: boolean }> {
    const answer = await this.#transport.call<SandboxJson & { reused?: boolean }>(
      BASE,
      createJson(input),
      'sandbox_id',
      { repeatable: input.reuse === true },
    )
    return { sandbox: readSandbox(answer), reused: answer.reused === true }
  }

  /** Null when there is no such sandbox, or it ended longer ago than it is kept. */
  async get(sandboxId: string): Promise<Sandbox | null> {
    return orNull(() => this.#sandbox(sandboxPath(sandboxId), 'GET'))
  }

  /** Newest first. A page may have few or none while there are more: it is the last when `nextPage` is null. */
  async list(options: ListSandboxesOptions = {}): Promise<{ sandboxes: Sandbox[]; nextPage: string | null }> {
    const { taskId, status, limit, page } = options
    const path = `${BASE}${query({ task_id: taskId, status, limit, page })}`
    const answer = await this.#transport.call<{ sandboxes: SandboxJson[]; next_page: string | null }>(
      path,
      {},
      'sandboxes',
      { method: 'GET' },
    )
    return { sandboxes: answer.sandboxes.map(readSandbox), nextPage: answer.next_page }
  }

  async stop(sandboxId: string): Promise<Sandbox> {
    return this.#sandbox(`${sandboxPath(sandboxId)}/stop`, 'POST')
  }

  async start(sandboxId: string): Promise<Sandbox> {
    return this.#sandbox(`${sandboxPath(sandboxId)}/start`, 'POST')
  }

  /** Has it expire in `ttlSeconds` from now, or never. */
  async renew(sandboxId: string, { ttlSeconds }: { ttlSeconds?: number } = {}): Promise<Sandbox> {
    return this.#sandbox(`${sandboxPath(sandboxId)}/renew`, 'POST', { ttl_seconds: ttlSeconds })
  }

  /** Destroying what is destroyed succeeds. */
  async destroy(sandboxId: string): Promise<void> {
    await this.#transport.send(sandboxPath(sandboxId), { method: 'DELETE' })
  }

  /**
   * Saves a checkpoint of the workspace, whose blobs were uploaded before.
   * @throws BlobsMissingError naming those that have to be uploaded first; the errors of the checkpoint contract
   */
  async saveSnapshot(sandboxId: string, input: SaveSnapshotInput): Promise<SnapshotRecord> {
    const { reason, files, artifacts, conversation, label, ifLatest, requestToken = randomUUID() } = input
    const if_latest = ifLatest && { sandbox_id: ifLatest.sandboxId, snapshot_seq: ifLatest.snapshotSeq }
    const answer = await this.#transport.call<SnapshotJson>(
      `${sandboxPath(sandboxId)}/snapshots`,
      { reason, files, artifacts, conversation, label, if_latest, request_token: requestToken },
      'snapshot_seq',
      { uploads: `${BASE}/uploads` },
    )
    return readSnapshot(answer)
  }

  /** In the order of their saving. */
  async listSnapshots(
    sandboxId: string,
    { limit, page }: ListSnapshotsOptions = {},
  ): Promise<{ snapshots: SnapshotRecord[]; nextPage: string | null }> {
    const path = `${sandboxPath(sandboxId)}/snapshots${query({ limit, page })}`
    const answer = await this.#transport.call<{ snapshots: SnapshotJson[]; next_page: string | null }>(
      path,
      {},
      'snapshots',
      { method: 'GET' },
    )
    return { snapshots: answer.snapshots.map(readSnapshot), nextPage: answer.next_page }
  }

  /** A snapshot with what the workspace held. Null when it is not there. */
  async getSnapshot({ sandboxId, snapshotSeq }: SnapshotName): Promise<SnapshotManifest | null> {
    const path = `${sandboxPath(sandboxId)}/snapshots/${snapshotSeq}`
    return orNull(async () =>
      readManifest(await this.#transport.call<ManifestJson>(path, {}, 'files', { method: 'GET' })),
    )
  }

  /**
   * How to fetch the blobs of a snapshot with few requests: bundles of small ones, and the others by themselves. With
   * `keys`, up to 1,000, just those, each by itself. Check each by its hash; a bundle that is missing or damaged by now
   * is no loss, since all it holds can be asked for by `keys`.
   */
  async snapshotDownloads(
    { sandboxId, snapshotSeq }: SnapshotName,
    keys?: ReadonlyArray<string>,
  ): Promise<SnapshotDownloads> {
    const path = `${sandboxPath(sandboxId)}/snapshots/${snapshotSeq}/downloads`
    return readDownloads(await this.#transport.call<DownloadsJson>(path, { keys }, 'bundles'))
  }

  async #sandbox(path: string, method: 'GET' | 'POST', body: object = {}): Promise<Sandbox> {
    return readSandbox(await this.#transport.call<SandboxJson>(path, body, 'sandbox_id', { method }))
  }
}

/** Any string names a sandbox, though most name none. */
function sandboxPath(sandboxId: string): string {
  return `${BASE}/${encodeURIComponent(sandboxId)}`
}

function query(parameters: Record<string, string | number | undefined>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? '' : `?${given}`
}
