import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../cli/context.ts'
import { createClient } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { runCommand } from './support/command.ts'

let stack: LocalStack
const home = mkdtempSync(join(tmpdir(), 'sandkeep-doctor-'))

beforeAll(async () => {
  stack = await startLocalStack()
})

afterAll(async () => {
  await stack.stop()
  rmSync(home, { recursive: true, force: true })
})

function client(options: { apiKey?: string; fetch?: typeof fetch; timeoutMs?: number } = {}): Client {
  return createClient({ url: stack.url, apiKey: stack.apiKey, tenant: 'acme', project: 'site', ...options })
}

async function examine(of: Client) {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], { client: of, cwd: home, home })
  return {
    code,
    stderr,
    findings: JSON.parse(stdout).findings as Array<{ check: string; ok: boolean; detail: string }>,
  }
}

test('a deployment that works passes, and is left as it was', async () => {
  const of = client()
  const before = await of.sweeps.usage()
  for (let times = 0; times < 2; times += 1) {
    const { code, findings } = await examine(of)
    expect({ code, findings: findings.map(({ check, ok }) => [check, ok]) }).toStrictEqual({
      code: 0,
      findings: [
        ['read', true],
        ['write', true],
        ['sweep', true],
      ],
    })
  }
  expect(await of.sweeps.usage()).toMatchObject({ checkpoints: before.checkpoints })
  expect(await of.checkpoints.getHead('sandkeep-doctor')).toBeNull()
})

test('the first thing that fails is told, with what to do', async () => {
  const unknown = await examine(client({ apiKey: `skp_${'0'.repeat(16)}_${'0'.repeat(64)}` }))
  expect(unknown).toMatchObject({ code: 5, findings: [{ check: 'read', ok: false }] })
  expect(unknown.stderr).not.toContain('deployment')
  expect(unknown.findings[0]?.detail).toContain('key')

  const { key } = await createClient({
    url: stack.url,
    apiKey: stack.apiKey,
    tenant: 'acme',
    project: 'site',
  }).keys.create({
    name: 'w',
    role: 'writer',
    bindings: [{ tenant: 'acme', project: 'site' }],
  })
  expect(await examine(client({ apiKey: key }))).toMatchObject({
    code: 5,
    findings: [
      { check: 'read', ok: true },
      { check: 'write', ok: true },
      { check: 'sweep', ok: false, detail: expect.stringContaining('It takes the role project_admin.') },
    ],
  })

  const down = await examine(client({ fetch: () => Promise.reject(new TypeError('fetch failed')), timeoutMs: 100 }))
  expect(down).toMatchObject({ code: 6, findings: [{ check: 'read', ok: false }] })
})

test('bytes that come back otherwise are noticed, and the checkpoint is deleted all the same', async () => {
  const damaging: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init)
    const { url, method } = new Request(input, init)
    if (!url.startsWith(stack.s3Endpoint) || method !== 'GET') return answer
    const bytes = new Uint8Array(await answer.arrayBuffer())
    bytes[0] = (bytes[0] ?? 0) ^ 1
    return new Response(bytes, answer)
  }
  const { code, findings, stderr } = await examine(client({ fetch: damaging }))
  expect(stderr).toBe('sandkeep: The deployment does not work as it should.\n')
  expect({ code, findings }).toMatchObject({ code: 1, findings: [{ ok: true }, { check: 'write', ok: false }] })
  expect(await client().checkpoints.getHead('sandkeep-doctor')).toBeNull()
})
