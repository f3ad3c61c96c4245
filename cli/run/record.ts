import { randomUUID } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { errnoOf, UsageError } from '../errors.ts'
import { printablePath } from '../format.ts'

const FORMAT = 'sandkeep-run-1'
const snapshotName = z.object({ sandboxId: z.string(), snapshotSeq: z.number() })
const runRecord = z.object({
  format: z.literal(FORMAT),
  taskId: z.string(),
  profile: z.string(),
  /** The folder in which the command runs: an absolute path. */
  workspace: z.string(),
  sandboxId: z.string(),
  /** What the workspace began with; null for an empty one. */
  source: snapshotName.nullable(),
  /** What the caller says of the turn. */
  meta: z.record(z.string(), z.unknown()),
  /** Null: what the command leaves. */
  summary: z.string().nullable(),
  startedAt: z.string(),
  /** Whether the workspace was filled, so that what is in it is to be kept. */
  ready: z.boolean(),
  /** Null until the command has ended. */
  end: z.object({ exitCode: z.number(), timedOut: z.boolean(), endedAt: z.string() }).nullable(),
  /** The last save, and whether the next run of the task began with it then. */
  saved: snapshotName.extend({ latest: z.boolean() }).nullable(),
  /** The number that the turn was or will be written under. */
  turn: z.number().nullable(),
})

/** All that is needed to finish a run, whatever becomes of the process. */
export type RunRecord = z.infer<typeof runRecord>

/** Where a run keeps what is its own. */
export interface RunFolder {
  path: string
  /** Of `RunRecord`. */
  record: string
  log: string
  diff: string
  cache: string
  /** Of the stat cache of the workspace as it began. */
  begun: string
}

export function runFolder(path: string): RunFolder {
  const inside = (name: string) => join(path, name)
  return {
    path,
    record: inside('run.json'),
    log: inside('output.log'),
    diff: inside('workspace.diff'),
    cache: inside('cache'),
    begun: inside('begun'),
  }
}

export function newRecord(record: Omit<RunRecord, 'format' | 'ready' | 'end' | 'saved' | 'turn'>): RunRecord {
  return { format: FORMAT, ...record, ready: false, end: null, saved: null, turn: null }
}

/** Replaces the record in one step. */
export async function writeRecord(folder: RunFolder, record: RunRecord): Promise<void> {
  const temporary = `${folder.record}.${randomUUID()}`
  await writeFile(temporary, `${JSON.stringify(record)}\n`, { mode: 0o600, flag: 'wx' })
  await rename(temporary, folder.record)
}

/** @throws UsageError when the folder is none of a run */
export async function readRecord(folder: RunFolder): Promise<RunRecord> {
  try {
    return runRecord.parse(JSON.parse(await readFile(folder.record, 'utf8')))
  } catch (cause) {
    if (errnoOf(cause) === 'EACCES') throw cause
    throw new UsageError(`${printablePath(folder.path)} is no folder that \`sandkeep run\` has left.`, { cause })
  }
}
