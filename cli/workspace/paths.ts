/** Folders that a running or killed pull leaves in its target: never kept, never written to by a checkpoint. */
export const STAGING_PATTERN = /^\.sandkeep-pull-(\d+)-[0-9a-f]{8}$/

/** Bytes of UTF-8. What Linux and macOS take; longer ones could be written half. */
const MAX_PATH_BYTES = 4_096
const MAX_NAME_BYTES = 255

/**
 * What is wrong with a path of a checkpoint, or null. The rules of the contract, and beyond them what cannot be written
 * safely everywhere: a drive prefix in any form, text that is not well-formed Unicode, what is too long for a file
 * system, and names that pull itself uses.
 */
export function pathProblem(path: string): string | null {
  if (path === '') return 'the path is empty'
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return 'the path is too long'
  if (!path.isWellFormed()) return 'the path is not valid Unicode'
  if (path.includes('\0')) return 'the path holds a NUL character'
  if (path.includes('\\')) return 'the path holds a backslash'
  if (path.startsWith('/')) return 'the path is absolute'
  if (/^[A-Za-z]:/.test(path)) return 'the path starts with a drive letter'
  const parts = path.split('/')
  for (const part of parts) {
    if (part === '') return 'the path has an empty component'
    if (part === '.' || part === '..') return `the path has a "${part}" component`
    if (Buffer.byteLength(part) > MAX_NAME_BYTES) return 'the path has a name of more than 255 bytes'
  }
  if (STAGING_PATTERN.test(parts[0] ?? '')) return 'the name is reserved for the staging folder of pull'
  return null
}

/** The folder of a path, '' at the top. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash === -1 ? '' : path.slice(0, slash)
}

/** The last component of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function join(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/**
 * Every folder above these paths. Climbs from each path only to the first folder that is known, so that many paths in
 * the same deep folder cost little more than one.
 */
export function foldersAbove(paths: Iterable<string>): Set<string> {
  const folders = new Set<string>()
  for (const path of paths) {
    for (let at = parentOf(path); at !== '' && !folders.has(at); at = parentOf(at)) folders.add(at)
  }
  return folders
}

/** Compares by path, in code unit order. */
export function byPath(left: { path: string }, right: { path: string }): number {
  return left.path < right.path ? -1 : 1
}
