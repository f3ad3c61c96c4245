/** Folders that a running or killed pull leaves in its target: never kept, never written to by a checkpoint. */
export const STAGING_PATTERN = /^\.sandkeep-pull-(\d+)-[0-9a-f]{8}$/

/**
 * What is wrong with a path of a checkpoint, or null. The rules of the contract, and beyond them what cannot be written
 * safely everywhere: a drive prefix in any form, text that is not well-formed Unicode, and names that pull itself uses.
 */
export function pathProblem(path: string): string | null {
  if (path === '') return 'the path is empty'
  if (!path.isWellFormed()) return 'the path is not valid Unicode'
  if (path.includes('\0')) return 'the path holds a NUL character'
  if (path.includes('\\')) return 'the path holds a backslash'
  if (path.startsWith('/')) return 'the path is absolute'
  if (/^[A-Za-z]:/.test(path)) return 'the path starts with a drive letter'
  const parts = path.split('/')
  for (const part of parts) {
    if (part === '') return 'the path has an empty component'
    if (part === '.' || part === '..') return `the path has a "${part}" component`
  }
  if (STAGING_PATTERN.test(parts[0] ?? '')) return 'the name is reserved for the staging folder of pull'
  return null
}

/** The folder of a path, '' at the top. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash === -1 ? '' : path.slice(0, slash)
}

export function join(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/** Every folder above a path, the topmost first. */
export function ancestorsOf(path: string): string[] {
  const ancestors: string[] = []
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    ancestors.push(path.slice(0, slash))
  }
  return ancestors
}
