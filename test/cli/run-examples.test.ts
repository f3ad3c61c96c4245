import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { type AnthropicEndpoint, startAnthropic } from '../ai/support/anthropic-endpoint.ts'
import { text } from '../ai/support/messages.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { makeTree, readTree, temporaryFolder } from './support/tree.ts'

vi.setConfig({ testTimeout: 120_000 })
const ROOT = join(import.meta.dirname, '../..')
const EXAMPLES = join(ROOT, 'examples')
let stack: LocalStack
let endpoint: AnthropicEndpoint
let client: SandkeepClient
let base: string
let project = 0
beforeAll(async () => {
  stack = await startLocalStack()
  endpoint = await startAnthropic()
}, 180_000)
afterAll(async () => {
  await endpoint.stop()
  await stack.stop()
})
beforeEach(() => {
  base = temporaryFolder()
  project += 1
  client = createClient({ url: stack.url, apiKey: stack.apiKey, tenant: 'acme', project: `e${project}` })
  mkdirSync(join(base, 'tmp'))
  makeTree(join(base, 'bin'), {
    sandkeep: { text: `#!/bin/sh\nexec "${process.execPath}" "${ROOT}/cli/main.ts" "$@"\n`, mode: 0o755 },
    // Stands for an agent.
    claude: { text: '#!/bin/sh\nls; echo "$2" >> prompts\n', mode: 0o755 },
  })
  return () => rmSync(base, { recursive: true, force: true })
})

const environment = () => ({
  PATH: `${join(base, 'bin')}:${process.env.PATH}`,
  HOME: join(base, 'home'),
  TMPDIR: join(base, 'tmp'),
  SANDBOX_GATEWAY_URL: stack.url,
  SANDBOX_API_KEY: stack.apiKey,
  SANDBOX_TENANT: 'acme',
  SANDBOX_PROJECT: `e${project}`,
  TASK: 'task-42',
})

function execute(program: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: base, env: { ...environment(), ...env } }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    )
  })
}

test('the job of GitHub Actions goes on with its task', async () => {
  const workflow = readFileSync(join(EXAMPLES, 'github-actions.yml'), 'utf8')
  const [, block = ''] = /\n {6}- run: \|\n((?: {10}.*\n)+)/.exec(workflow) ?? []
  expect(block).toContain('sandkeep run')
  // What each needs is set by the workflow, but for what every runner sets.
  for (const [, name] of block.matchAll(/\$([A-Z_]+)/g)) {
    if (!name?.startsWith('GITHUB_')) expect(workflow).toContain(`      ${name}: $`)
  }
  for (const PROMPT of ['first "one"', 'second']) {
    await execute('bash', ['-e', '-c', block], { PROMPT, GITHUB_RUN_ID: '77' })
  }
  expect(await execute('sandkeep', ['run', '--task', 'task-42', '--', 'cat', 'prompts'])).toBe('first "one"\nsecond\n')
  const turn = await client.memory.getTurn({ taskId: 'task-42', turn: 2 })
  expect(turn?.meta).toMatchObject({ agent_id: 'claude-code', job_id: '77', exit_code: 0 })
})

test('the entrypoint of a container goes on with its task', async () => {
  const entrypoint = join(EXAMPLES, 'docker/entrypoint.sh')
  expect(readFileSync(join(EXAMPLES, 'docker/Dockerfile'), 'utf8')).toContain('COPY entrypoint.sh')
  await execute(entrypoint, ['sh', '-c', 'echo one > a'])
  expect(await execute(entrypoint, ['cat', 'a'], { AUTOSAVE: '5s' })).toBe('one\n')
  await expect(execute(entrypoint, ['sh', '-c', 'exit 7'])).rejects.toMatchObject({ code: 7 })
})

test('the agent works in its workspace, and tells what it did', async () => {
  const call = (command: string) => ({
    content: [{ type: 'tool_use', id: 'toolu_1', name: 'shell', input: { command } }],
    stopReason: 'tool_use',
  })
  const agent = (prompt: string) =>
    execute(
      'sandkeep',
      ['run', '--task', 'task-42', '--', process.execPath, join(EXAMPLES, 'coding-agent.ts'), prompt],
      {
        ANTHROPIC_BASE_URL: `${endpoint.url}/v1`,
        ANTHROPIC_API_KEY: 'key',
      },
    )
  endpoint.replyWith(call('echo hello > greeting.txt'), { content: [text('# Made the greeting')] })
  expect(await agent('Make a greeting.')).toBe('$ echo hello > greeting.txt\n# Made the greeting\n')
  endpoint.replyWith(call('cat greeting.txt; exit 3'), { content: [text('It says hello.')] })
  await agent('What does it say?')
  const result = JSON.stringify(endpoint.requests.at(-1)?.body.messages)
  expect(result).toContain('hello\\\\n')
  expect(result).toContain('exit_code\\":3')
  const turns = await Promise.all([1, 2].map((turn) => client.memory.getTurn({ taskId: 'task-42', turn })))
  expect(turns.map((turn) => turn?.summaryMd)).toEqual(['# Made the greeting', 'It says hello.'])
  await execute('sandkeep', ['run', '--task', 'task-42', '--dir', 'w', '--', 'true'])
  expect(Object.keys(readTree(join(base, 'w')))).toEqual(['.sandkeep', 'greeting.txt'])
})
