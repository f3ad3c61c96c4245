import type { Command } from 'commander'
import type { Task, TurnOverview } from '../../../client/index.ts'
import {
  type CommandContext,
  type ConnectionOptions,
  openSession,
  type Session,
  withConnection,
} from '../../context.ts'
import { MissingError } from '../../errors.ts'
import { count, isoTime, printable } from '../../format.ts'
import { table } from '../../output.ts'
import { describeTask, taskJson } from './describe.ts'

export function registerList(memory: Command, context: CommandContext): void {
  withConnection(memory.command('list').argument('[task]', 'lists the turns of this task'))
    .description('list the tasks of the project, or the turns of one')
    .addHelpText('after', '\nExamples:\n  $ sandkeep memory list\n  $ sandkeep memory list task-42 --json')
    .action(async (taskId: string | undefined, options: ConnectionOptions) => {
      const session = await openSession(context, options)
      if (taskId === undefined) await listTasks(session)
      else await listTurns(session, taskId)
    })
}

export function registerRemove(memory: Command, context: CommandContext): void {
  withConnection(memory.command('rm').argument('<task>', 'the task'))
    .description('remove a task with all its turns and artifacts')
    .addHelpText(
      'after',
      '\nA writer removes only the tasks that it began; a project_admin removes any.\n\nExample:\n  $ sandkeep memory rm task-42',
    )
    .action(async (taskId: string, options: ConnectionOptions) => {
      const { client, output } = await openSession(context, options)
      await client.memory.deleteTask(taskId)
      await output.result({ task_id: taskId, removed: true }, () => [`removed ${printable(taskId)}`])
    })
}

async function listTasks({ client, output }: Session): Promise<void> {
  const tasks: Task[] = []
  for await (const task of client.memory.listTasks()) tasks.push(task)
  await output.result({ tasks: tasks.map(describeTask) }, () =>
    table(
      tasks.map((task) => [
        task.taskId,
        `turn ${task.latestTurn}`,
        count(task.turnCount, 'turn'),
        isoTime(task.updatedAt) ?? '-',
        printable(task.createdBy),
      ]),
    ),
  )
}

async function listTurns({ client, output }: Session, taskId: string): Promise<void> {
  const task = await client.memory.getTask(taskId, { limit: 1 })
  if (!task) {
    throw new MissingError(`There is no task "${printable(taskId)}". \`sandkeep memory list\` lists those there are.`)
  }
  const turns: TurnOverview[] = []
  for await (const turn of client.memory.listTurns(taskId)) turns.push(turn)
  await output.result(taskJson(task, turns), () =>
    table(
      turns.map((turn) => [
        String(turn.turn),
        isoTime(turn.updatedAt) ?? '-',
        count(turn.artifacts.length, 'artifact'),
        printable([turn.meta.agent_id, turn.meta.model].filter((text) => text != null).join(' ') || '-'),
      ]),
    ),
  )
}
