import type { SandboxInstanceRecord, SandboxInstanceStore } from '../src/instances/types.ts'
import type { Transport } from './transport.ts'

const BASE = '/sandbox/instances/v1'

/** The instance store over the API. */
export class ClientInstanceStore implements SandboxInstanceStore {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async get(key: string): Promise<SandboxInstanceRecord | null> {
    const { record } = await this.#transport.call<{ record: SandboxInstanceRecord | null }>(
      `${BASE}/get`,
      { key },
      'record',
    )
    return record
  }

  async upsert(record: SandboxInstanceRecord): Promise<void> {
    await this.#transport.run(`${BASE}/upsert`, { record })
  }

  async delete(key: string): Promise<void> {
    await this.#transport.run(`${BASE}/delete`, { key })
  }
}
