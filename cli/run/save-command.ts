import type { ConnectionOptions } from '../context.ts'

/** The command that finishes a run later, for a shell. Credentials do not stand in it. */
export function saveCommand(folder: string, { url, tenant, project }: ConnectionOptions): string {
  const options = Object.entries({ url, tenant, project }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  return ['sandkeep', 'save', folder, ...options].map(quoted).join(' ')
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
