import type { MemoryStore } from '../../src/memory/types.ts'
import type { Call } from '../shared/request.ts'

/** The memory of a request's scope. */
export type Memory = (call: Call) => MemoryStore
