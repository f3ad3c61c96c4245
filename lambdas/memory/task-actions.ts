import { NotFoundError } from '../../src/errors.ts'
import { roleIncludes } from '../../src/keys/store.ts'
import { checkTaskId } from '../../src/memory/names.ts'
import { ownerText } from '../shared/access.ts'
import { type Action, action } from '../shared/action.ts'
import { json, jsonText, noContent } from '../shared/answer.ts'
import { shownTask, taskText, turnText } from './answers.ts'
import { readTurnNumber, taskOf, turnOf } from './path-parameters.ts'
import type { TurnContent } from './request-content.ts'
import type { MemoryAction } from './routes.ts'
import { aPage, noParameters } from './schemas.ts'
import type { Memory } from './service.ts'
import { readTurn } from './turn-body.ts'

/** About how much JSON a page of turns has: well below the inline limit, so that pages need no detour. */
const PAGE_BYTES = 3_145_728

type TaskAction = Extract<MemoryAction, `${string}Turn` | `${string}Task` | `${string}Tasks`>

/** Turns and the tasks that they make. */
export function taskActions(memory: Memory): Record<TaskAction, Action> {
  return {
    putTurn: async (call) => {
      const { text, ifAbsent } = call.body as TurnContent
      const written = { ...turnOf(call.params), ...readTurn(text), ifAbsent }
      const turn = await memory(call).putTurn({ ...written, by: ownerText(call.principal) })
      return jsonText(200, turnText(turn))
    },
    getTurn: action(noParameters, async (_query, call) => {
      const turn = await memory(call).getTurn(turnOf(call.params))
      if (!turn) throw new NotFoundError()
      return jsonText(200, turnText(turn))
    }),
    listTasks: action(aPage, async ({ limit, page }, call) => {
      const { tasks, next } = await memory(call).listTasks({
        limit,
        ...(page !== undefined && { after: checkTaskId(page, 'page') }),
      })
      return json(200, { tasks: tasks.map(shownTask), next_page: next })
    }),
    getTask: action(aPage, async ({ limit, page }, call) => {
      const found = await memory(call).getTask({
        taskId: taskOf(call.params),
        limit,
        ...(page !== undefined && { after: readTurnNumber(page, 'page') }),
        maxBytes: PAGE_BYTES,
      })
      if (!found) throw new NotFoundError()
      return jsonText(200, taskText(found.task, found.turns, found.next === null ? null : String(found.next)))
    }),
    deleteTask: async (call) => {
      const { principal } = call
      const owner = ownerText(principal)
      await memory(call).deleteTask({
        taskId: taskOf(call.params),
        mayDelete: (createdBy) => createdBy === owner || roleIncludes(principal.role, 'project_admin'),
      })
      return noContent()
    },
  }
}
