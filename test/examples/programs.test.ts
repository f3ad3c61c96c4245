import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, type SandkeepClient } from 'sandkeep'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { workOn } from '../../examples/hosted-sandbox.ts'
import { startAgent } from '../../examples/tanstack-ai.ts'
import { type AnthropicEndpoint, startAnthropic } from '../ai/support/anthropic-endpoint.ts'
import { bash, text } from '../ai/support/messages.ts'
import { readTree, temporaryFolder } from '../cli/support/tree.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { EXAMPLES, makeMachine } from './support/machine.ts'
import { openPage } from './support/page.ts'
import { type Reply, scriptedAdapter, textOf } from './support/scripted-adapter.ts'

// The package by its own name is what was built last.
vi.mock('sandkeep', () => import('../../index.ts'))
vi.mock('sandkeep/ai', () => import('../../client/ai/index.ts'))
vi.setConfig({ testTimeout: 120_000 })

let endpoint: AnthropicEndpoint
let stack: LocalStack
let client: SandkeepClient
let base: string
let env: Record<string, string>
let project = 0
beforeAll(async () => {
  endpoint = await startAnthropic()
  const anthropic = { baseUrl: endpoint.url, apiKey: 'key' }
  stack = await startLocalStack({ anthropic, filesBackend: 'anthropic' })
}, 180_000)
afterAll(async () => {
  await stack.stop()
  await endpoint.stop()
})
beforeEach(() => {
  base = temporaryFolder()
  mkdirSync(join(base, 'home'))
  project += 1
  env = {
    SANDBOX_GATEWAY_URL: stack.url,
    SANDBOX_API_KEY: stack.apiKey,
    SANDBOX_TENANT: 'acme',
    SANDBOX_PROJECT: `p${project}`,
  }
  client = createClient({ url: stack.url, apiKey: stack.apiKey, tenant: 'acme', project: `p${project}` })
  vi.stubEnv('HOME', join(base, 'home'))
  return () => {
    vi.unstubAllEnvs()
    rmSync(base, { recursive: true, force: true })
  }
})

describe('the chat with TanStack AI', () => {
  const start = async (dir: string, replies: Reply[]) => {
    const { adapter, requests } = scriptedAdapter(replies)
    const agent = await startAgent({ client, taskId: 'task-42', dir: join(base, dir), adapter })
    return { agent, requests }
  }
  const results = (messages: readonly { role: string; content: unknown }[]) =>
    messages.filter(({ role }) => role === 'tool').map(({ content }) => content)

  test('goes on with its files and its conversation in a new folder', async () => {
    const first = await start('one', [
      { tool: 'write_file', input: { path: 'notes/greeting.txt', content: 'hello\n' } },
      { tool: 'run_command', input: { command: 'wc -l < notes/greeting.txt; exit 3' } },
      { text: '# Made the greeting' },
    ])
    expect(await textOf(first.agent.ask('Make a greeting.'))).toBe('# Made the greeting')
    expect(results(first.agent.messages())).toEqual([
      '{"written":"notes/greeting.txt"}',
      expect.stringMatching(/^{"exit_code":3,"output":" *1\\n"}$/),
    ])
    await first.agent.end()
    rmSync(join(base, 'one'), { recursive: true })

    const second = await start('two', [
      { tool: 'read_file', input: { path: 'notes/greeting.txt' } },
      { tool: 'read_file', input: { path: 'missing' } },
      { text: 'It says hello.' },
    ])
    expect(JSON.stringify(second.agent.messages())).toBe(JSON.stringify(first.agent.messages()))
    expect(await textOf(second.agent.ask('What does it say?'))).toBe('It says hello.')
    expect(results(second.agent.messages()).slice(2)).toEqual(['hello\n', expect.stringContaining('ENOENT')])
    // The model has the whole conversation, and the project's memory.
    expect(second.requests[0]?.messages.map(({ role }) => role).join()).toBe(
      'user,assistant,tool,assistant,tool,assistant,user',
    )
    expect(JSON.stringify(second.requests[0]?.systemPrompts)).toContain('# Made the greeting')

    const turns = await Promise.all([1, 2].map((turn) => client.memory.getTurn({ taskId: 'task-42', turn })))
    expect(turns.map((turn) => turn?.summaryMd)).toEqual(['# Made the greeting', 'It says hello.'])
    const meta = { agent_id: 'tanstack-ai', model: 'scripted-1', snapshot_seq: 1, tokens: { input: 10, output: 5 } }
    expect(turns[1]?.meta).toMatchObject(meta)
  })

  test('keeps the files of a turn whose model fails, and the conversation before it', async () => {
    const first = await start('one', [
      { text: 'Hello.' },
      { tool: 'write_file', input: { path: 'half', content: 'x' } },
      { error: 'overloaded' },
    ])
    await textOf(first.agent.ask('Hi.'))
    await textOf(first.agent.ask('Work.')).catch(() => undefined)
    // It is killed: nothing ends it.
    const second = await start('two', [])
    expect(second.agent.messages().map(({ content }) => content)).toEqual(['Hi.', 'Hello.'])
    expect(Object.keys(readTree(join(base, 'two')))).toEqual(['.sandkeep', 'half'])
    expect((await client.memory.getTask('task-42'))?.turnCount).toBe(1)
  })
})

test('the agent with the AI SDK works in its workspace, and tells what it did', async () => {
  const call = (command: string) => ({
    content: [{ type: 'tool_use', id: 'toolu_1', name: 'shell', input: { command } }],
    stopReason: 'tool_use',
  })
  const run = (machine: string, prompt: string) => {
    const { execute } = makeMachine(join(base, machine), env)
    const agent = [
      'sandkeep',
      'run',
      '--task',
      'task-42',
      '--',
      process.execPath,
      join(EXAMPLES, 'coding-agent.ts'),
      prompt,
    ]
    return execute('npx', agent, { ANTHROPIC_BASE_URL: `${endpoint.url}/v1`, ANTHROPIC_API_KEY: 'key' })
  }
  endpoint.replyWith(call('echo hello > greeting.txt'), { content: [text('# Made the greeting')] })
  expect(await run('one', 'Make a greeting.')).toBe('$ echo hello > greeting.txt\n# Made the greeting\n')
  endpoint.replyWith(call('cat greeting.txt; exit 3'), { content: [text('It says hello.')] })
  await run('two', 'What does it say?')
  const result = JSON.stringify(endpoint.requests.at(-1)?.body.messages)
  expect(result).toContain('hello\\\\n')
  expect(result).toContain('exit_code\\":3')
  const turns = await Promise.all([1, 2].map((turn) => client.memory.getTurn({ taskId: 'task-42', turn })))
  expect(turns.map((turn) => turn?.summaryMd)).toEqual(['# Made the greeting', 'It says hello.'])
})

test('the turn in a hosted sandbox works on a file, and the next one in the same container', async () => {
  const report = endpoint.files.add('report.txt', 'sum: 3')
  const container = { id: 'container_1' }
  endpoint.replyWith({ content: [...bash('s1', 'sum', [report.id]), text('Here it is.')], container })
  const first = await workOn(env, { prompt: 'Sum it up.', file: new File(['1,2'], 'data.csv', { type: 'text/csv' }) })
  expect(first).toMatchObject({ text: 'Here it is.', saved: 'container_1' })
  expect(first.made.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])).toEqual([['report.txt', 'sum: 3']])

  endpoint.replyWith({ content: [text('Done.')], container })
  expect(await workOn(env, { prompt: 'And now?', saved: first.saved ?? null })).toEqual({
    text: 'Done.',
    saved: 'container_1',
    made: [],
  })
  expect(endpoint.requests.at(-1)?.body.container).toBe('container_1')
})

test('the commands of the page do what it says', async () => {
  const { cwd, execute } = makeMachine(join(base, 'machine'), env)
  const page = openPage(cwd)
  const container = { id: 'container_2' }
  const shell = { type: 'tool_use', id: 'toolu_1', name: 'shell', input: { command: 'echo line >> haiku.txt' } }
  const coding = [{ content: [shell], stopReason: 'tool_use' }, { content: [text('Done.')] }]
  const hosted = ['A hundred.', 'Ten.'].map((answer) => ({ content: [text(answer)], container }))
  endpoint.replyWith(...coding, ...coding, ...hosted)

  await execute('npm', ['install', '--global', '@anthropic-ai/claude-code'])
  const script = page.script.replaceAll('/tmp/', `${base}/`)
  const output = await execute('sh', ['-e', '-c', script], { ...page.env, ANTHROPIC_BASE_URL: `${endpoint.url}/v1` })
  expect(output).toContain('A hundred.\ncontainer_2\nTen.\ncontainer_2\n')
  expect(endpoint.requests.at(-1)?.body.container).toBe('container_2')
  expect(readFileSync(join(base, 'chat-2', 'haiku.txt'), 'utf8')).toBe('line\nline\n')
  const turns = await Array.fromAsync(client.memory.listTasks(), ({ taskId, turnCount }) => [taskId, turnCount])
  expect(turns).toEqual([
    ['build', 2],
    ['chat', 2],
    ['haiku', 2],
  ])
})
