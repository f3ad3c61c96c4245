import type { Command } from 'commander'
import { type CommandContext, type ConnectionOptions, openSession, withConnection } from '../../context.ts'

export function registerProject(memory: Command, context: CommandContext): void {
  withConnection(memory.command('project'))
    .description('print the memory of the project as one Markdown document')
    .addHelpText(
      'after',
      `
The task with the newest update comes first, each with the beginning of its newest summary.

Example:
  $ sandkeep memory project > project.md`,
    )
    .action(async (options: ConnectionOptions) => {
      const { client, output } = await openSession(context, options)
      const document = await client.memory.projectMdStream()
      if (options.json) {
        await output.result({ project_md: await new Response(document).text() }, () => [])
        return
      }
      for await (const chunk of document) await output.text(chunk)
    })
}
