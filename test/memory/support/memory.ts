import { createMemoryStore } from '../../../src/memory/store.ts'
import type { MemoryStore } from '../../../src/memory/types.ts'
import type { Scope } from '../../../src/tenancy/scope.ts'
import type { Engines } from '../../support/engines.ts'

export const ME = 'user:me'
export const RETENTION_SEC = 1_000

export interface Memory {
  store: MemoryStore
  scope: Scope
  /** What the store takes for the time. */
  clock: { now: number }
  put(taskId: string, turn: number, summary?: string, meta?: string): ReturnType<MemoryStore['putTurn']>
  attach(taskId: string, turn: number, name: string, text?: string): ReturnType<MemoryStore['putArtifact']>
  /** The text of an artifact; null: there is none. */
  text(taskId: string, turn: number, name: string): Promise<string | null>
  projectMd(): Promise<string>
}

/** A memory that nothing has used, or another over the same scope and clock. */
export function memoryOf(
  engines: Pick<Engines, 'dynamodb' | 's3' | 'tableName' | 'bucketName' | 'freshScope'>,
  {
    scope = engines.freshScope(),
    clock = { now: Date.now() },
    retentionSec = RETENTION_SEC,
  }: Partial<Pick<Memory, 'scope' | 'clock'>> & { retentionSec?: number } = {},
): Memory {
  const store = createMemoryStore({ ...engines, scope, now: () => clock.now, retentionSec })
  return {
    store,
    scope,
    clock,
    put: (taskId, turn, summary = '', meta = '{}') => store.putTurn({ taskId, turn, summary, meta, by: ME }),
    attach: (taskId, turn, name, text = name) =>
      store.putArtifact({ taskId, turn, name, bytes: Buffer.from(text), contentType: `text/x-${text.length}`, by: ME }),
    text: async (taskId, turn, name) => {
      const found = await store.findArtifact({ taskId, turn, name })
      const bytes = found && (await store.readArtifact(found))
      return bytes && Buffer.from(bytes).toString()
    },
    projectMd: async () => {
      let text = ''
      for await (const piece of store.projectMd()) text += piece
      return text
    },
  }
}
