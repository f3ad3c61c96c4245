import { afterAll } from 'vitest'
import { createInstanceStore } from '../../src/instances/store.ts'
import { runInstanceStoreConformance } from '../../testkit/index.ts'
import { startEngines } from '../support/engines.ts'

const { dynamodb, tableName, freshScope, stop } = await startEngines()
afterAll(stop)

runInstanceStoreConformance('in process', () => createInstanceStore({ dynamodb, tableName, scope: freshScope() }))
