import type { SandboxInstanceRecord, SandboxInstanceStore } from '../src/instances/types.ts'

/** An instance store that keeps everything in memory: a reference for other stores, and a fake for tests. */
export function createMemoryInstanceStore(): SandboxInstanceStore {
  const records = new Map<string, string>()
  return {
    get: async (key) => {
      const text = records.get(key)
      return text === undefined ? null : (JSON.parse(text) as SandboxInstanceRecord)
    },
    upsert: async (record) => {
      // As JSON: a copy, in which a property that is undefined is absent.
      records.set(record.key, JSON.stringify(record))
    },
    delete: async (key) => {
      records.delete(key)
    },
  }
}
