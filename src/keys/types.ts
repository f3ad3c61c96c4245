/** Each role includes the ones before it. */
export const ROLES = ['viewer', 'writer', 'project_admin', 'platform'] as const

/**
 * viewer: reads; writer: reads and writes; project_admin: also deletes blobs; platform: also manages API keys.
 */
export type Role = (typeof ROLES)[number]

/**
 * What a key may do beside its role. act_for_users: name the user for whom it calls; act_as_sandbox: leave files as a
 * sandbox does. The role platform has all of them.
 */
export const RIGHTS = ['act_for_users', 'act_as_sandbox'] as const

export type Right = (typeof RIGHTS)[number]

/** A tenant and a project that a key is good for; `*` stands for all. */
export interface KeyBinding {
  tenant: string
  project: string
}

export interface ApiKeyRecord {
  id: string
  name: string
  role: Role
  bindings: KeyBinding[]
  /** Those that were given to it, in the order of `RIGHTS`. */
  rights: Right[]
  /** Milliseconds since the epoch. */
  createdAt: number
  revokedAt?: number
}

export interface CreateKeyInput {
  name: string
  role: Role
  bindings: KeyBinding[]
  /** Default none. */
  rights?: readonly Right[]
}

export interface KeyStore {
  /** The text of the key is shown here and never again: only its hash is kept. */
  create(input: CreateKeyInput): Promise<{ key: string; record: ApiKeyRecord }>
  /** In the order of their making. */
  list(): Promise<ApiKeyRecord[]>
  /** @throws NotFoundError when there is no such key. */
  revoke(id: string): Promise<void>
}

export interface KeyLookup {
  /** The record of a key, revoked or not, or null. */
  get(id: string): Promise<ApiKeyRecord | null>
}
