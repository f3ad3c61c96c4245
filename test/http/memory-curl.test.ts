import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'

let stack: LocalStack
let folder: string
beforeAll(async () => {
  stack = await startLocalStack()
  folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-curl-'))
  await writeFile(path.join(folder, 'trajectory.jsonl'), '{"step":1}\n{"step":2}\n')
  await writeFile(path.join(folder, 'five.bin'), randomBytes(5_000_000))
  await writeFile(path.join(folder, 'eleven.bin'), randomBytes(11_000_000))
})
afterAll(async () => {
  await stack.stop()
  await rm(folder, { recursive: true })
})

const stand = path.join(import.meta.dirname, 'support', 'curl.ts')

/** Runs a command line in the folder, with the variables that the examples of the API use. */
async function shell(script: string): Promise<string> {
  const withCurl = `command -v curl >/dev/null || curl() { '${process.execPath}' '${stand}' "$@"; }\n${script}`
  const env = {
    PATH: process.env.PATH,
    SANDBOX_API_KEY: stack.apiKey,
    SANDBOX_GATEWAY_URL: stack.url,
    TENANT: 'acme',
    PROJECT: 'web',
  }
  const options = { cwd: folder, env, encoding: 'buffer' as const, maxBuffer: 64_000_000 }
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-euc', withCurl], options)
  expect(stderr.toString()).toBe('')
  return stdout.toString('latin1')
}

const KEY = `-H "X-Api-Key: $SANDBOX_API_KEY" \\
  -H "X-Sandbox-Tenant-Id: $TENANT" -H "X-Sandbox-Project-Id: $PROJECT"`
const TASK = '"$SANDBOX_GATEWAY_URL/sandbox/memory/v1/tasks/task-42"'

const WRITE_TURN = `curl -sS -X PUT \\
  -H "X-Api-Key: $SANDBOX_API_KEY" \\
  -H "X-Sandbox-Tenant-Id: $TENANT" -H "X-Sandbox-Project-Id: $PROJECT" \\
  -H "Content-Type: application/json" \\
  -d '{
    "meta": {
      "agent_id": "claude-code",
      "model": "claude-sonnet-4-5",
      "job_id": "job-123",
      "sandbox_id": "sbx-abc",
      "commit": "abc1234",
      "exit_code": 0,
      "started_at": "2026-11-04T10:00:00Z",
      "ended_at": "2026-11-04T10:05:00Z",
      "tokens": {"input": 1200, "output": 340},
      "cost": 0.04,
      "claude_session_id": "sess-1"
    },
    "summary_md": "## Turn 1\\nAdded the login form and its tests."
  }' \\
  "$SANDBOX_GATEWAY_URL/sandbox/memory/v1/tasks/task-42/turns/1"`

const ATTACH = `curl -sS -X PUT \\
  -H "X-Api-Key: $SANDBOX_API_KEY" \\
  -H "X-Sandbox-Tenant-Id: $TENANT" -H "X-Sandbox-Project-Id: $PROJECT" \\
  -H "Content-Type: application/x-ndjson" \\
  --data-binary @trajectory.jsonl \\
  "$SANDBOX_GATEWAY_URL/sandbox/memory/v1/tasks/task-42/turns/1/artifacts/trajectory.jsonl"`

const DELETE = `curl -sS -X DELETE \\
  -H "X-Api-Key: $SANDBOX_API_KEY" \\
  -H "X-Sandbox-Tenant-Id: $TENANT" -H "X-Sandbox-Project-Id: $PROJECT" \\
  "$SANDBOX_GATEWAY_URL/sandbox/memory/v1/tasks/task-42"`

it('a turn is written, given an artifact, read back and deleted with curl', async () => {
  expect(JSON.parse(await shell(WRITE_TURN))).toMatchObject({
    task_id: 'task-42',
    turn: 1,
    meta: { agent_id: 'claude-code', exit_code: 0, tokens: { input: 1_200, output: 340 }, cost: 0.04 },
    summary_md: '## Turn 1\nAdded the login form and its tests.',
    artifacts: [],
  })
  expect(JSON.parse(await shell(ATTACH))).toMatchObject({
    name: 'trajectory.jsonl',
    size_bytes: 22,
    content_type: 'application/x-ndjson',
  })
  const back = await shell(`curl -sS -i ${KEY} ${TASK}/turns/1/artifacts/trajectory.jsonl`)
  expect(back).toMatch(/^content-type: application\/x-ndjson\r$/im)
  expect(back.split('\r\n\r\n')[1]).toBe('{"step":1}\n{"step":2}\n')
  expect(JSON.parse(await shell(`curl -sS ${KEY} ${TASK}`))).toMatchObject({ turn_count: 1, latest_turn: 1 })
  expect(await shell(`curl -sS -i ${DELETE.slice('curl -sS '.length)}`)).toMatch(/^HTTP\/1\.1 204/)
  expect(await shell(DELETE)).toBe('')
  expect(JSON.parse(await shell(`curl -sS ${KEY} ${TASK}`))).toMatchObject({ error: { code: 'not_found' } })
})

it('a request without one of the tenancy headers is 400', async () => {
  for (const header of ['X-Sandbox-Tenant-Id: $TENANT', 'X-Sandbox-Project-Id: $PROJECT']) {
    const answer = await shell(WRITE_TURN.replace(`-H "${header}"`, ''))
    expect(JSON.parse(answer)).toMatchObject({ error: { code: 'invalid_input', field: header.split(':')[0] } })
  }
})

it('an artifact without a type has the one that curl gives it, and with an empty one none', async () => {
  const plain = ATTACH.replace('-H "Content-Type: application/x-ndjson"', '')
  expect(JSON.parse(await shell(plain))).toMatchObject({ content_type: 'application/x-www-form-urlencoded' })
  const none = ATTACH.replace('-H "Content-Type: application/x-ndjson"', '-H "Content-Type:"')
  expect(JSON.parse(await shell(none))).toMatchObject({ content_type: 'application/octet-stream' })
})

it.each(['five.bin', 'eleven.bin'])('an artifact of %s is refused, with the way to go', async (file) => {
  const answer = JSON.parse(await shell(ATTACH.replace('@trajectory.jsonl', `@${file}`)))
  expect(answer.error.code).toBe('payload_too_large')
  expect(answer.error.upload).toBe('/sandbox/memory/v1/tasks/task-42/turns/1/artifacts/trajectory.jsonl/upload')
})

it('a large artifact goes up and comes back with curl', async () => {
  const { url: location, ...upload } = JSON.parse(
    await shell(
      `curl -sS -X POST ${KEY} -H "Content-Type: application/json" -d '{"size_bytes": 5000000, "content_type": "image/png"}' ${TASK}/turns/1/artifacts/shot.png/upload`,
    ),
  )
  const headers = Object.entries<string>(upload.headers).map(([name, value]) => `-H '${name}: ${value}'`)
  const sent = headers.filter((header) => !header.startsWith("-H 'content-length"))
  await shell(`curl -sS -X ${upload.method} ${sent.join(' ')} --data-binary @five.bin '${location}'`)
  const done = await shell(
    `curl -sS -X POST ${KEY} ${TASK}/turns/1/artifacts/shot.png/upload/${upload.upload_id}/complete`,
  )
  expect(JSON.parse(done)).toMatchObject({ size_bytes: 5_000_000, content_type: 'image/png' })
  const back = await shell(`curl -sS -L ${KEY} ${TASK}/turns/1/artifacts/shot.png`)
  expect(back).toHaveLength(5_000_000)
})
