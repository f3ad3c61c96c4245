import { exec } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  type AnyTextAdapter,
  chat,
  type FinishInfo,
  type ModelMessage,
  maxIterations,
  type StreamChunk,
  toolDefinition,
} from '@tanstack/ai'
import { openWorkspace, type SandkeepClient } from 'sandkeep'
import * as z from 'zod'

// A chat with an agent that works in a folder. Files and conversation are kept after each turn; the next start, in a new
// folder on any machine, goes on with both. Any adapter of TanStack AI will do:
//
//   const agent = await startAgent({ client, taskId: 'task-42', dir: 'work', adapter: anthropicText('claude-sonnet-5') })
//   for await (const chunk of agent.ask('Add a test for the parser')) { … }
//   await agent.end()
//
// In a route of an app: `toServerSentEventsResponse(agent.ask(prompt))`. What the model runs has the rights of this
// process: keep that in a container.

export interface AgentOptions {
  /** `createClient` of `sandkeep`. */
  client: SandkeepClient
  taskId: string
  /** The folder that it works in, new or empty. */
  dir: string
  adapter: AnyTextAdapter
}

const INSTRUCTIONS = 'You are a coding agent. Work with the tools, then say in Markdown what you did.'

export async function startAgent({ client, taskId, dir, adapter }: AgentOptions) {
  const workspace = await openWorkspace({ client, taskId, dir })
  const { sandboxId } = workspace.sandbox
  const tools = workspaceTools(workspace.path)
  const briefing = `What was done on the tasks of this project:\n\n${await client.memory.projectMd()}`
  let messages = workspace.conversation as ModelMessage[]

  /** One turn: the model works until it has an answer. One at a time. */
  async function* ask(prompt: string): AsyncGenerator<StreamChunk> {
    const startedAt = new Date().toISOString()
    let finished: FinishInfo | undefined
    try {
      yield* chat({
        adapter,
        messages: [...messages, { role: 'user', content: prompt }],
        systemPrompts: [INSTRUCTIONS, briefing],
        tools,
        agentLoopStrategy: maxIterations(50),
        middleware: [
          {
            onFinish(context, info) {
              messages = [...context.messages]
              finished = info
            },
          },
        ],
      })
    } finally {
      // Also when the model fails or the reader goes away: the files have changed, the conversation has not.
      const { snapshotSeq } = await workspace.save({ conversation: messages })
      if (finished) await writeTurn(finished, startedAt, snapshotSeq)
    }
  }

  async function writeTurn({ content, usage }: FinishInfo, startedAt: string, snapshotSeq: number) {
    const task = await client.memory.getTask(taskId, { limit: 1 })
    await client.memory.putTurn({
      taskId,
      turn: (task?.latestTurn ?? 0) + 1,
      ifAbsent: true,
      meta: {
        agent_id: 'tanstack-ai',
        model: adapter.model,
        sandbox_id: sandboxId,
        snapshot_seq: snapshotSeq,
        started_at: startedAt,
        ended_at: new Date().toISOString(),
        ...(usage && { tokens: { input: usage.promptTokens, output: usage.completionTokens } }),
      },
      summaryMd: content,
    })
  }

  return {
    ask,
    /** The conversation so far, for the app to show. */
    messages: () => messages,
    /** Saves what the last turn left, and destroys the sandbox. */
    end: () => workspace.close(),
  }
}

function workspaceTools(root: string) {
  const file = z.string().meta({ description: 'Path in the workspace' })
  return [
    toolDefinition({
      name: 'read_file',
      description: 'Reads a text file of the workspace.',
      inputSchema: z.object({ path: file }),
    }).server(({ path }) => readFile(join(root, path), 'utf8')),
    toolDefinition({
      name: 'write_file',
      description: 'Writes a text file of the workspace, and the folders above it.',
      inputSchema: z.object({ path: file, content: z.string() }),
    }).server(async ({ path, content }) => {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), content)
      return { written: path }
    }),
    toolDefinition({
      name: 'run_command',
      description: 'Runs a shell command in the workspace; returns its exit code and what it has written.',
      inputSchema: z.object({ command: z.string() }),
    }).server(
      ({ command }) =>
        new Promise<{ exit_code: number | string; output: string }>((resolve) => {
          exec(command, { cwd: root, timeout: 120_000, maxBuffer: 1_000_000 }, (error, stdout, stderr) => {
            resolve({ exit_code: error?.code ?? (error ? 1 : 0), output: `${stdout}${stderr}`.slice(-20_000) })
          })
        }),
    ),
  ]
}
