/**
 * `node scripts/docs/terminal-run.ts` runs the commands of the first console in README.md against a local stack, puts
 * what they print there, and records the run in docs/terminal-run.cast, which asciinema plays.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startLocalStack } from '../../local/index.ts'
import { codeBlocks, type ShownCommand, shownCommands } from './blocks.ts'
import { HOME, makeShellWorld, runShell } from './shell.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const README = path.join(ROOT, 'README.md')
const FIXTURES = path.join(ROOT, 'test/docs/fixtures')
/** Seconds for which a reader sees the prompt before a command is there, and a key while it is typed. */
const PROMPT = 0.8
const KEY = 0.04

/** The recorded run as asciicast, version 2: a head, then a line for each piece of what is shown, with its time. */
function cast(commands: readonly ShownCommand[], seconds: readonly number[]): string {
  const lines: unknown[] = [{ version: 2, width: 118, height: 40, title: 'sandkeep' }]
  let time = 0
  for (const [index, { command, output }] of commands.entries()) {
    lines.push([time, 'o', '$ '])
    time = rounded(time + PROMPT)
    for (const key of command.replaceAll('\n', '\r\n> ')) {
      lines.push([time, 'o', key])
      time = rounded(time + KEY)
    }
    lines.push([time, 'o', '\r\n'])
    time = rounded(time + (seconds[index] ?? 0))
    if (output !== '') lines.push([time, 'o', `${output.replaceAll('\n', '\r\n')}\r\n`])
  }
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`
}

function rounded(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000
}

const readme = readFileSync(README, 'utf8')
const block = codeBlocks(readme).find(({ language }) => language === 'console')
if (!block) throw new Error('README.md has no console.')
const commands = shownCommands(block.text).map(({ command }) => command)
const folder = mkdtempSync(path.join(tmpdir(), 'sandkeep-run-'))
const stack = await startLocalStack()
try {
  const { env } = makeShellWorld(folder, stack)
  const cwd = path.join(folder, 'my-app')
  cpSync(FIXTURES, cwd, { recursive: true })
  const { outputs, ends, code } = await runShell(
    commands.map((command) => ({ command, mayFail: false })),
    cwd,
    env,
  )
  if (code !== 0) throw new Error(`A command failed: ${outputs.at(-1)}`)
  const shown = commands.map((command, index) => ({
    command,
    output: outputs[index]?.trimEnd().replaceAll(folder, HOME) ?? '',
  }))
  const text = shown.flatMap(({ command, output }) => [`$ ${command.replaceAll('\n', '\n> ')}`, output || []].flat())
  writeFileSync(
    README,
    readme.replace(block.text, () => text.join('\n')),
  )
  const seconds = ends.map((end, index) => end - (ends[index - 1] ?? 0))
  writeFileSync(path.join(ROOT, 'docs/terminal-run.cast'), cast(shown, seconds))
} finally {
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
}
