import type { Command } from 'commander'
import type { CommandContext } from '../../context.ts'
import { registerArtifactGet } from './artifact-get.ts'
import { registerArtifactPut } from './artifact-put.ts'
import { registerProject } from './project.ts'
import { registerList, registerRemove } from './tasks.ts'
import { registerGet, registerPut } from './turns.ts'

export function registerMemory(program: Command, context: CommandContext): void {
  const memory = program
    .command('memory')
    .description('keep what was done, by task and turn, and read it back')
    .addHelpText(
      'after',
      `
A task has turns from 0 to 9999; a turn has a meta (JSON), a summary (Markdown) and artifacts (files). A task is kept
until a while after its last write, 30 days unless the deployment says otherwise.

Examples:
  $ sandkeep memory put task-42 1 --summary notes.md --meta meta.json
  $ sandkeep memory artifact put task-42 1 trajectory.jsonl
  $ sandkeep memory project`,
    )
  registerPut(memory, context)
  registerGet(memory, context)
  registerList(memory, context)
  registerRemove(memory, context)
  registerProject(memory, context)
  const artifact = memory.command('artifact').description('keep files of a turn, and bring them back')
  registerArtifactPut(artifact, context)
  registerArtifactGet(artifact, context)
}
