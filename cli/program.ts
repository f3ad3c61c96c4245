import { Command, CommanderError } from 'commander'
import packageJson from 'sandkeep/package.json' with { type: 'json' }
import { registerCost } from './commands/cost.ts'
import { registerDiff } from './commands/diff.ts'
import { registerDoctor } from './commands/doctor.ts'
import { registerFiles } from './commands/files.ts'
import { registerFork } from './commands/fork.ts'
import { registerKeys } from './commands/keys.ts'
import { registerLog } from './commands/log.ts'
import { registerMemory } from './commands/memory/index.ts'
import { registerPrune } from './commands/prune.ts'
import { registerPull } from './commands/pull.ts'
import { registerPush } from './commands/push.ts'
import { registerRun } from './commands/run.ts'
import { registerSave } from './commands/save.ts'
import { registerShow } from './commands/show.ts'
import { registerSweep } from './commands/sweep.ts'
import { registerUsage } from './commands/usage.ts'
import type { CommandContext } from './context.ts'
import { ExitCodeError } from './errors.ts'
import { describeFailure, EXIT, EXIT_HELP } from './exit.ts'

const HELP = `
Settings come from flags, then SANDBOX_GATEWAY_URL, SANDBOX_API_KEY or SANDBOX_TOKEN, SANDBOX_TENANT and
SANDBOX_PROJECT, then $XDG_CONFIG_HOME/sandkeep/config.json (default ~/.config/sandkeep/config.json: "url", "api_key" or
"token", "tenant", "project"). With a key and a token both must be valid, and what both allow is allowed.
The thread is --thread, else SANDBOX_THREAD, else the name of the folder.

Examples:
  $ sandkeep push --label "it works"
  $ sandkeep log
  $ sandkeep pull /tmp/copy --thread site
  $ sandkeep run --task task-42 -- npm test
  $ sandkeep memory put task-42 1 --summary notes.md

${EXIT_HELP}`

/**
 * Runs one command line (without the interpreter and the script). Results go to `stdout`, all else to `stderr`.
 * Returns the exit code; errors do not come out of it.
 */
export async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const over = new AbortController()
  const program = createProgram({ ...context, signal: AbortSignal.any([context.signal, over.signal]) })
  try {
    await program.parseAsync(args, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    // Commander has printed what was wrong, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    if (error instanceof ExitCodeError && error.cause === undefined) return error.exitCode
    // Once interrupted, whatever failed failed for that.
    const { exitCode, message, details } = describeFailure(context.signal.aborted ? context.signal.reason : error)
    context.stderr.write(`sandkeep: ${message}\n${details.map((line) => `  ${line}\n`).join('')}`)
    return exitCode
  } finally {
    // Stops transfers that were still under way when another one failed.
    over.abort()
  }
}

/** All commands, with their options and helps. */
export function createProgram(context: CommandContext): Command {
  const program = new Command('sandkeep')
    .description('Keeps folders as checkpoints of a thread, and brings them back.')
    .version(packageJson.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => write(withoutValue(text)),
    })
    .showHelpAfterError('(add --help for the arguments and examples)')
    .addHelpText('after', HELP)
  registerPush(program, context)
  registerPull(program, context)
  registerRun(program, context)
  registerSave(program, context)
  registerLog(program, context)
  registerShow(program, context)
  registerDiff(program, context)
  registerPrune(program, context)
  registerFork(program, context)
  registerSweep(program, context)
  registerUsage(program, context)
  registerFiles(program, context)
  registerMemory(program, context)
  registerKeys(program, context)
  registerDoctor(program, context)
  registerCost(program, context)
  return program
}

/** A message about an unknown option without what was given to it: a mistyped --api-key holds a secret. */
function withoutValue(text: string): string {
  return text.replace(/(unknown option '(?:--[^=']*|-[^-']))[\s\S]*'/, "$1'")
}
