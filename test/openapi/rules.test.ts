import { describe, expect, test } from 'vitest'
import { readTurn } from '../../lambdas/memory/turn-body.ts'
import { turnBody } from '../../lambdas/memory/turn-schema.ts'
import { OPERATIONS as sandboxOperations } from '../../lambdas/sandboxes/operations.ts'
import * as sandboxSchemas from '../../lambdas/sandboxes/schemas.ts'
import { checkpoint as checkpointSchema } from '../../lambdas/shared/contract-schemas.ts'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import { checkAppend } from '../../src/checkpoints/validate.ts'
import { checkpoint } from '../http/support/checkpoint.ts'

// Rules that a service checks without a schema stand in one for the description: both must say the same.

function takes(check: () => unknown): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

describe('of the body of a turn', () => {
  test.for<[boolean, unknown]>([
    [true, {}],
    [true, { meta: {}, summary_md: '' }],
    [
      true,
      { meta: { agent_id: 'a', exit_code: 0, cost: 1.5, tokens: { input: 1, output: null, more: 'x' }, more: [] } },
    ],
    [true, { meta: { agent_id: null, tokens: null } }],
    [false, []],
    [false, null],
    [false, { more: 1 }],
    [false, { meta: null }],
    [false, { meta: [] }],
    [false, { meta: { agent_id: 1 } }],
    [false, { meta: { exit_code: '0' } }],
    [false, { meta: { tokens: [] } }],
    [false, { meta: { tokens: { input: '1' } } }],
    [false, { summary_md: null }],
    [false, { summary_md: 1 }],
    [false, { summary_md: '\ud800' }],
  ])('%s: %j', ([expected, body]) => {
    expect(takes(() => readTurn(JSON.stringify(body)))).toBe(expected)
    expect(turnBody.safeParse(body).success).toBe(expected)
  })

  test('the same fields of the meta have types', () => {
    const meta = turnBody.shape.meta.unwrap()
    for (const name of Object.keys(meta.shape)) {
      expect(
        takes(() => readTurn(JSON.stringify({ meta: { [name]: true } }))),
        name,
      ).toBe(false)
    }
  })
})

const hash = 'a'.repeat(64)
const blobKey = `sandbox-files/sha256/${hash}`
const aFile = { path: 'a', kind: 'file', blobKey, size: 1 }
const artifact = {
  artifactId: 'i',
  name: 'n',
  mimeType: 'a/b',
  size: 0,
  blobKey: `sandbox-artifacts/sha256/${hash}`,
  createdAt: 0,
}
const files = (...more: object[]) => ({ files: more.map((entry) => ({ ...aFile, ...entry })) })

describe('of a checkpoint', () => {
  test.for<[boolean, object]>([
    [true, {}],
    [true, { more: 1, label: 'l', sourceRunId: 'r', conversation: [null, { a: [] }] }],
    [true, files({}, { path: 'b/c.d', mode: 0o7777, more: 1 }, { path: '.a/..b', size: 0 })],
    [
      true,
      {
        files: [
          { path: 'd', kind: 'dir' },
          { path: 'l', kind: 'symlink', target: '/..' },
        ],
      },
    ],
    [true, { artifacts: [{ ...artifact, more: 1 }] }],
    [false, { id: '' }],
    [false, { id: 1 }],
    [false, { id: '\ud800' }],
    [false, { threadId: '' }],
    [false, { parentCheckpointId: '' }],
    [false, { createdAt: '1' }],
    [false, { conversation: {} }],
    [false, { files: {} }],
    [false, files({ path: '' })],
    [false, files({ path: '/a' })],
    [false, files({ path: 'a/' })],
    [false, files({ path: 'a//b' })],
    [false, files({ path: 'a/./b' })],
    [false, files({ path: 'a/..' })],
    [false, files({ path: '..' })],
    [false, files({ path: 'a\n/../b' })],
    [false, files({ path: 'a\\b' })],
    [false, files({ path: 'a\0' })],
    [false, files({ path: 'C:/a' })],
    [false, files({ path: 'C:' })],
    [false, files({ kind: 'pipe' })],
    [false, files({ blobKey: 'x' })],
    [false, files({ size: -1 })],
    [false, files({ size: 1.5 })],
    [false, files({ mode: 0o10000 })],
    [false, { files: [{ path: 'd', kind: 'dir', size: 0 }] }],
    [false, { files: [{ path: 'l', kind: 'symlink', target: '' }] }],
    [false, { files: [{ path: 'l', kind: 'symlink', target: 'a\0' }] }],
    [false, { artifacts: [{ ...artifact, name: '' }] }],
    [false, { artifacts: [{ ...artifact, blobKey }] }],
    [false, { artifacts: [{ ...artifact, createdAt: null }] }],
  ])('%s: %j', ([expected, change]) => {
    const changed = { ...checkpoint('c', 't'), ...change } as SandboxCheckpoint
    const writer = { threadId: 't', ownerToken: 'o', fence: 1 }
    expect(takes(() => checkAppend({ checkpoint: changed, expectedHeadId: null, writer }))).toBe(expected)
    expect(checkpointSchema.safeParse(changed).success).toBe(expected)
  })
})

describe('of labels', () => {
  const described = sandboxOperations.create.body?.['application/json']
  test.for<[boolean, unknown]>([
    [true, {}],
    [true, { a: '', 'b c': 'x'.repeat(1_024) }],
    [false, []],
    [false, { '': 'a' }],
    [false, { a: 1 }],
    [false, { a: 'x'.repeat(1_025) }],
    [false, { ['n'.repeat(129)]: 'a' }],
  ])('%s: %j', ([expected, labels]) => {
    const body = { profile: 'p', labels }
    expect(sandboxSchemas.create.safeParse(body).success).toBe(expected)
    expect(typeof described === 'object' && described.safeParse(body).success).toBe(expected)
  })
})
