import type { SandboxCheckpoint } from '../src/checkpoints/types.ts'

/** The first rule of `files`, `artifacts`, `createdAt` or JSON that the checkpoint breaks, or undefined. */
export function brokenEntryRule(checkpoint: SandboxCheckpoint): string | undefined {
  if (!Number.isFinite(checkpoint.createdAt)) return 'createdAt must be a finite number'
  return (
    brokenFilesRule(checkpoint.files) ??
    brokenArtifactsRule(checkpoint.artifacts) ??
    (isJson(checkpoint) ? undefined : 'a value is not JSON')
  )
}

export function isValidId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.isWellFormed()
}

export function brokenFilesRule(files: unknown): string | undefined {
  if (!Array.isArray(files)) return 'files must be an array'
  const kinds = new Map<string, unknown>()
  for (const entry of files as unknown[]) {
    if (!isRecord(entry)) return 'an entry must be an object'
    const { path } = entry
    if (!isPath(path)) return 'path is not a relative path'
    if (kinds.has(path)) return `path ${path} stands twice`
    kinds.set(path, entry.kind)
    const broken = brokenKindRule(entry)
    if (broken !== undefined) return `${path}: ${broken}`
  }
  for (const path of kinds.keys()) {
    for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
      const parent = path.slice(0, slash)
      if (kinds.has(parent) && kinds.get(parent) !== 'dir') return `${path} is beneath ${parent}, which is no directory`
    }
  }
  return undefined
}

function brokenKindRule(entry: Record<string, unknown>): string | undefined {
  if (entry.kind === 'file') {
    if (!isKey(entry.blobKey, 'sandbox-files')) return 'blobKey is not a file key'
    if (!isSize(entry.size)) return 'size must be an integer of at least 0'
    if (entry.mode !== undefined && !(isSize(entry.mode) && entry.mode <= 0o7777)) return 'mode must be 0 to 0o7777'
    return undefined
  }
  if (entry.kind !== 'dir' && entry.kind !== 'symlink') return 'kind is unknown'
  if (Object.hasOwn(entry, 'blobKey') || Object.hasOwn(entry, 'size')) return 'only a file has a blob'
  if (entry.kind === 'symlink' && (!isText(entry.target) || entry.target.includes('\0'))) return 'target is not a path'
  return undefined
}

export function brokenArtifactsRule(artifacts: unknown): string | undefined {
  if (!Array.isArray(artifacts)) return 'artifacts must be an array'
  for (const artifact of artifacts as unknown[]) {
    if (!isRecord(artifact)) return 'an artifact must be an object'
    if (!isValidId(artifact.artifactId)) return 'artifactId is not an id'
    if (!isText(artifact.name) || !isText(artifact.mimeType)) return 'name and mimeType must not be empty'
    if (!isKey(artifact.blobKey, 'sandbox-artifacts')) return 'blobKey is not an artifact key'
    if (!isSize(artifact.size)) return 'size must be an integer of at least 0'
    if (!Number.isFinite(artifact.createdAt)) return 'createdAt must be a finite number'
  }
  return undefined
}

function isPath(path: unknown): path is string {
  return (
    isText(path) &&
    !/[\0\\]/.test(path) &&
    !/^[A-Za-z]:(\/|$)/.test(path) &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  )
}

function isKey(key: unknown, prefix: string): boolean {
  // Matched to the very end: `$` alone would let a trailing newline pass in other dialects of the pattern.
  return typeof key === 'string' && new RegExp(`^${prefix}/sha256/[0-9a-f]{64}$`).test(key)
}

function isSize(size: unknown): size is number {
  return Number.isSafeInteger(size) && (size as number) >= 0
}

function isText(text: unknown): text is string {
  return typeof text === 'string' && text !== ''
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isJson(value: unknown): boolean {
  if (typeof value === 'bigint') return false
  if (typeof value === 'number') return Number.isFinite(value)
  return !isRecord(value) || Object.values(value).every(isJson)
}
