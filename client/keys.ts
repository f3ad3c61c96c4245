import type { ApiKeyRecord, CreateKeyInput, KeyBinding, KeyStore, Right, Role } from '../src/keys/types.ts'
import type { Transport } from './transport.ts'

const BASE = '/sandbox/keys/v1'

interface KeyJson {
  id: string
  name: string
  role: Role
  bindings: KeyBinding[]
  rights: Right[]
  created_at: string
  revoked_at?: string
}

interface KeysJson {
  keys: KeyJson[]
  next_page: string | null
}

/** API keys, for callers whose own key has the role `platform`. */
export class ClientKeyStore implements KeyStore {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async create({ name, role, bindings, rights = [] }: CreateKeyInput): Promise<{ key: string; record: ApiKeyRecord }> {
    // A repeat would make a second key, and the first would be in nobody's hands.
    const { key, record } = await this.#transport.call<{ key: string; record: KeyJson }>(
      BASE,
      { name, role, bindings, rights },
      'key',
      { repeatable: false },
    )
    return { key, record: readRecord(record) }
  }

  async list(): Promise<ApiKeyRecord[]> {
    const records: ApiKeyRecord[] = []
    let page: string | null = null
    do {
      const path: string = page === null ? BASE : `${BASE}?${new URLSearchParams({ page })}`
      const answer: KeysJson = await this.#transport.call<KeysJson>(path, {}, 'keys', { method: 'GET' })
      records.push(...answer.keys.map(readRecord))
      page = answer.next_page
    } while (page !== null)
    return records
  }

  async revoke(id: string): Promise<void> {
    await this.#transport.run(`${BASE}/revoke`, { id })
  }
}

function readRecord({ id, name, role, bindings, rights, created_at, revoked_at }: KeyJson): ApiKeyRecord {
  return {
    id,
    name,
    role,
    bindings,
    rights,
    createdAt: Date.parse(created_at),
    ...(revoked_at !== undefined && { revokedAt: Date.parse(revoked_at) }),
  }
}
