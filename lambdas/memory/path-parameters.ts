import { checkArtifactName, checkTaskId, checkTurn } from '../../src/memory/names.ts'
import type { ApiMiddleware, ApiRequest, Call } from '../shared/request.ts'

type Params = Call['params']

const turnPattern = /^\d{1,4}$/

/** Holds the parameters of the path to their rules. @throws InvalidInputError naming the parameter */
export function pathParameters(): ApiMiddleware {
  const pathParametersBefore = ({ event }: ApiRequest): void => {
    const { task_id, turn, name } = event.call?.params ?? {}
    if (task_id !== undefined) checkTaskId(task_id)
    if (turn !== undefined) readTurnNumber(turn)
    if (name !== undefined) checkArtifactName(name)
  }
  return { before: pathParametersBefore }
}

/** The task that the path names. */
export function taskOf({ task_id = '' }: Params): string {
  return task_id
}

/** What the path of a turn names. */
export function turnOf(params: Params): { taskId: string; turn: number } {
  return { taskId: taskOf(params), turn: readTurnNumber(params.turn ?? '') }
}

/** What the path of an artifact names. */
export function artifactOf(params: Params): { taskId: string; turn: number; name: string } {
  return { ...turnOf(params), name: params.name ?? '' }
}

/** One to four digits. @throws InvalidInputError */
export function readTurnNumber(text: string, field = 'turn'): number {
  return checkTurn(turnPattern.test(text) ? Number(text) : undefined, field)
}
