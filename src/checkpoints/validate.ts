import { SandboxCheckpointInvalidEntryError, SandboxCheckpointInvalidIdError } from './errors.ts'
import type { SandboxCheckpointAppendInput, SandboxCheckpointForkInput, SandboxCheckpointWriter } from './types.ts'
import { checkJsonValue } from './validate-json.ts'

const fileKeyPattern = /^sandbox-files\/sha256\/[0-9a-f]{64}$/
const artifactKeyPattern = /^sandbox-artifacts\/sha256\/[0-9a-f]{64}$/
const MAX_MODE = 0o7777

/** @throws SandboxCheckpointInvalidIdError unless the value is a non-empty string of well-formed Unicode. */
export function checkId(value: unknown, field: string): asserts value is string {
  if (typeof value !== 'string' || value.length === 0 || !value.isWellFormed()) {
    throw new SandboxCheckpointInvalidIdError(`${field} must be a non-empty string of well-formed Unicode.`)
  }
}

/**
 * The checks of append that need no storage, in the contract's order: ids, then `createdAt`, `files` and `artifacts`,
 * then that JSON can carry every value.
 * @throws SandboxCheckpointInvalidIdError, SandboxCheckpointInvalidEntryError
 */
export function checkAppend(input: SandboxCheckpointAppendInput): void {
  const { checkpoint, expectedHeadId, writer } = input
  checkId(checkpoint?.threadId, 'checkpoint.threadId')
  checkWriterThread(writer)
  checkId(checkpoint.id, 'checkpoint.id')
  if (expectedHeadId !== null) checkId(expectedHeadId, 'expectedHeadId')
  const parent: unknown = checkpoint.parentCheckpointId
  if (parent !== null && parent !== undefined) checkId(parent, 'checkpoint.parentCheckpointId')
  checkFinite(checkpoint.createdAt, 'createdAt')
  checkFiles(checkpoint.files)
  checkArtifacts(checkpoint.artifacts)
  if (!Array.isArray(checkpoint.conversation)) throw invalid('conversation', 'must be an array')
  checkJsonValue(checkpoint, '')
}

/** The checks of a fork that need no storage. @throws as checkAppend. */
export function checkFork(input: SandboxCheckpointForkInput): void {
  checkId(input.sourceThreadId, 'sourceThreadId')
  checkId(input.sourceCheckpointId, 'sourceCheckpointId')
  checkId(input.destinationThreadId, 'destinationThreadId')
  checkId(input.destinationCheckpointId, 'destinationCheckpointId')
  checkWriterThread(input.writer)
  checkFinite(input.createdAt, 'createdAt')
}

export function checkWriterThread(writer: SandboxCheckpointWriter): void {
  checkId(writer?.threadId, 'writer.threadId')
}

/** @throws SandboxCheckpointInvalidEntryError unless `keep` is an integer of at least 1. */
export function checkKeep(keep: unknown): asserts keep is number {
  if (!Number.isSafeInteger(keep) || (keep as number) < 1) throw invalid('keep', 'must be an integer of at least 1')
}

function checkFinite(value: unknown, field: string): void {
  if (!Number.isFinite(value)) throw invalid(field, 'must be a finite number')
}

function checkFiles(files: unknown): void {
  if (!Array.isArray(files)) throw invalid('files', 'must be an array')
  const tree = new PathTree()
  for (const [index, entry] of files.entries()) {
    const field = `files[${index}]`
    if (!isObject(entry)) throw invalid(field, 'must be an object')
    checkPath(entry.path, `${field}.path`)
    tree.add(entry.path, entry.kind !== 'dir', `${field}.path`)
    checkEntryKind(entry, field)
  }
}

function checkEntryKind(entry: Record<string, unknown>, field: string): void {
  if (entry.kind === 'file') {
    if (!matches(fileKeyPattern, entry.blobKey)) {
      throw invalid(`${field}.blobKey`, 'must be sandbox-files/sha256/ and 64 lowercase hex digits')
    }
    checkSize(entry, field)
    if (entry.mode !== undefined) checkMode(entry.mode, field)
    return
  }
  if (entry.kind !== 'dir' && entry.kind !== 'symlink') throw invalid(`${field}.kind`, 'must be file, dir or symlink')
  if (Object.hasOwn(entry, 'blobKey')) throw invalid(`${field}.blobKey`, `must not stand on a ${entry.kind}`)
  if (Object.hasOwn(entry, 'size')) throw invalid(`${field}.size`, `must not stand on a ${entry.kind}`)
  if (entry.kind === 'symlink') checkTarget(entry.target, field)
}

function checkMode(mode: unknown, field: string): void {
  if (!Number.isSafeInteger(mode) || (mode as number) < 0 || (mode as number) > MAX_MODE) {
    throw invalid(`${field}.mode`, 'must be permission bits, 0 to 0o7777')
  }
}

function checkTarget(target: unknown, field: string): void {
  if (typeof target !== 'string' || target === '' || target.includes('\0')) {
    throw invalid(`${field}.target`, 'must be a non-empty string without NUL')
  }
}

/**
 * A path of a workspace: relative, `/` between its parts, no part empty, `.` or `..`, no NUL, no backslash, no drive.
 * @throws SandboxCheckpointInvalidEntryError
 */
export function checkPath(path: unknown, field: string): asserts path is string {
  if (typeof path !== 'string' || path === '') throw invalid(field, 'must be a non-empty string')
  if (path.includes('\0')) throw invalid(field, 'must not contain NUL')
  if (path.includes('\\')) throw invalid(field, 'must not contain a backslash')
  if (/^[A-Za-z]:(\/|$)/.test(path)) throw invalid(field, 'must not begin with a drive')
  if (/(^|\/)(\.{0,2})(\/|$)/.test(path)) throw invalid(field, 'must be relative, no part of it empty, . or ..')
}

/** Finds paths that stand twice, or beneath something that is no directory. */
class PathTree {
  readonly #paths = new Set<string>()
  readonly #leaves = new Set<string>()
  readonly #parents = new Set<string>()

  add(path: string, leaf: boolean, field: string): void {
    if (this.#paths.has(path)) throw invalid(field, 'stands twice')
    this.#paths.add(path)
    if (leaf) {
      if (this.#parents.has(path)) throw invalid(field, 'has entries beneath it but is not a directory')
      this.#leaves.add(path)
    }
    let end = path.lastIndexOf('/')
    while (end > 0) {
      const parent = path.slice(0, end)
      // A known parent's own parents were checked when it became one.
      if (this.#parents.has(parent)) return
      if (this.#leaves.has(parent)) throw invalid(field, 'is beneath an entry that is not a directory')
      this.#parents.add(parent)
      end = parent.lastIndexOf('/')
    }
  }
}

function checkArtifacts(artifacts: unknown): void {
  if (!Array.isArray(artifacts)) throw invalid('artifacts', 'must be an array')
  for (const [index, artifact] of artifacts.entries()) {
    const field = `artifacts[${index}]`
    if (!isObject(artifact)) throw invalid(field, 'must be an object')
    const { artifactId } = artifact
    if (typeof artifactId !== 'string' || artifactId === '' || !artifactId.isWellFormed()) {
      throw invalid(`${field}.artifactId`, 'must be a non-empty string of well-formed Unicode')
    }
    for (const name of ['name', 'mimeType'] as const) {
      if (typeof artifact[name] !== 'string' || artifact[name] === '') {
        throw invalid(`${field}.${name}`, 'must be a non-empty string')
      }
    }
    if (!matches(artifactKeyPattern, artifact.blobKey)) {
      throw invalid(`${field}.blobKey`, 'must be sandbox-artifacts/sha256/ and 64 lowercase hex digits')
    }
    checkSize(artifact, field)
    checkFinite(artifact.createdAt, `${field}.createdAt`)
  }
}

function checkSize(entry: Record<string, unknown>, field: string): void {
  const { size } = entry
  if (!Object.hasOwn(entry, 'size') || !Number.isSafeInteger(size) || (size as number) < 0) {
    throw invalid(`${field}.size`, 'must be an integer of at least 0')
  }
}

function matches(pattern: RegExp, value: unknown): boolean {
  // `$` matches only at the end here: the pattern has no `m` flag.
  return typeof value === 'string' && pattern.test(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function invalid(field: string, rule: string): SandboxCheckpointInvalidEntryError {
  return new SandboxCheckpointInvalidEntryError(`${field} ${rule}.`)
}
