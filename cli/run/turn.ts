import { type ArtifactContent, type ClientMemory, SandkeepHttpError } from '../../client/index.ts'
import { RefusedError } from '../errors.ts'

const LAST_TURN = 9_999

export interface TurnInput {
  memory: Pick<ClientMemory, 'getTask' | 'getTurn' | 'listTurns' | 'putTurn' | 'putArtifact'>
  taskId: string
  /** The number that an earlier attempt was made with. */
  turn: number | null
  meta: { sandbox_id: string; [name: string]: unknown }
  summaryMd: string
  artifacts: ReadonlyArray<{ name: string; content: ArtifactContent; contentType: string }>
  /** Told the number before the turn is written with it. */
  onTurn: (turn: number) => Promise<void>
}

/**
 * Writes a turn under the next free number, counted from 1; once the last is taken, under the first that is free. Of two
 * that are written at once each gets its own, and one that is written again, by its sandbox, the same.
 * @returns the number
 * @throws RefusedError when no number is left
 */
export async function writeTurn(input: TurnInput): Promise<number> {
  const { memory, taskId, artifacts, onTurn } = input
  let turn = input.turn ?? (await nextTurn(input))
  for (;;) {
    if (turn > LAST_TURN) throw new RefusedError(`The task has all ${LAST_TURN} turns, and can have no further one.`)
    await onTurn(turn)
    if (await putOwn(input, turn)) break
    turn = await nextTurn(input, turn)
  }
  for (const artifact of artifacts) await memory.putArtifact({ taskId, turn, ...artifact })
  return turn
}

/** False when another has taken the number. */
async function putOwn({ memory, taskId, meta, summaryMd }: TurnInput, turn: number): Promise<boolean> {
  try {
    await memory.putTurn({ taskId, turn, meta, summaryMd, ifAbsent: true })
    return true
  } catch (error) {
    if (!(error instanceof SandkeepHttpError) || error.code !== 'turn_exists') throw error
    // It may be this very turn, whose answer was lost.
    return (await memory.getTurn({ taskId, turn }))?.meta.sandbox_id === meta.sandbox_id
  }
}

async function nextTurn({ memory, taskId }: TurnInput, taken = 0): Promise<number> {
  const task = await memory.getTask(taskId, { limit: 1 })
  const next = Math.max(taken, task?.latestTurn ?? 0) + 1
  if (next <= LAST_TURN) return next
  let free = 1
  for await (const { turn } of memory.listTurns(taskId)) {
    if (turn > free) break
    if (turn === free) free += 1
  }
  return free
}
