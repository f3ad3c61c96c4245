import { exec } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { anthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount, tool } from 'ai'
import * as z from 'zod'

// An agent that works in the folder in which it is started, and knows nothing of how that is kept:
//
//   sandkeep run --task task-42 --meta agent=coding-agent -- node coding-agent.ts "Add a test for the parser"
//
// The next run of the task, on any machine, goes on with its files.

const shell = tool({
  description: 'Runs a shell command in the workspace, and returns its exit code and what it has written.',
  inputSchema: z.object({ command: z.string() }),
  execute: ({ command }) =>
    new Promise((resolve) => {
      exec(command, { timeout: 120_000, maxBuffer: 1_000_000 }, (error, stdout, stderr) => {
        resolve({ exit_code: error?.code ?? (error ? 1 : 0), output: `${stdout}${stderr}`.slice(-20_000) })
      })
    }),
})

const result = await generateText({
  model: anthropic('claude-sonnet-4-5'),
  system: 'You work in the current folder. When you are done, say in Markdown what you did.',
  prompt: process.argv.slice(2).join(' '),
  tools: { shell },
  stopWhen: isStepCount(50),
  onStepFinish: ({ toolCalls }) => {
    for (const { input } of toolCalls) console.log('$', (input as { command: string }).command)
  },
})
console.log(result.text)
// What it says in the end is the summary of the turn, for whoever goes on with the task.
if (process.env.SANDBOX_SUMMARY_FILE) await writeFile(process.env.SANDBOX_SUMMARY_FILE, result.text)
