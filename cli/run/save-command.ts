import type { ConnectionOptions } from '../context.ts'
import { printable } from '../format.ts'
import type { RunRecord } from './record.ts'

/** The command that finishes a run later, for a shell. Credentials do not stand in it. */
export function saveCommand(folder: string, options: ConnectionOptions): string {
  return shellCommand(['save', folder], options)
}

/** What to tell of work that is saved, though not as the latest workspace of its task. */
export function goOnLines({ taskId, saved }: RunRecord, options: ConnectionOptions): string[] {
  if (!saved || saved.latest) return []
  const command = shellCommand(['run', '--task', taskId, '--from', `${saved.sandboxId}/${saved.snapshotSeq}`], options)
  return [
    `sandkeep: the next run of ${printable(taskId)} begins with what another has saved, not with this`,
    `sandkeep: to go on with this: ${command} -- COMMAND`,
  ]
}

function shellCommand(args: readonly string[], { url, tenant, project }: ConnectionOptions): string {
  const options = Object.entries({ url, tenant, project }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  return ['sandkeep', ...args, ...options].map(quoted).join(' ')
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
