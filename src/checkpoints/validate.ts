import { SandboxCheckpointInvalidEntryError, SandboxCheckpointInvalidIdError } from './errors.ts'
import type {
  SandboxCheckpoint,
  SandboxCheckpointAppendInput,
  SandboxCheckpointForkInput,
  SandboxCheckpointWriter,
} from './types.ts'
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

/**
 * A copy of a checkpoint by its own properties, which is what is checked and stored: the caller's object may change, or
 * answer differently each time it is asked.
 * @throws DataCloneError for a value that cannot be copied, such as a function
 * @throws SandboxCheckpointInvalidEntryError for one that is nested too deep to be copied
 */
export function copyCheckpoint(checkpoint: SandboxCheckpoint): SandboxCheckpoint {
  try {
    return structuredClone(checkpoint)
  } catch (cause) {
    if (cause instanceof RangeError) throw invalid('checkpoint', 'is nested too deep')
    throw cause
  }
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
  for (const [index, entry] of files.entries()) {
    const field = `files[${index}]`
    if (!isObject(entry)) throw invalid(field, 'must be an object')
    checkPath(entry.path, `${field}.path`)
    checkEntryKind(entry, field)
  }
  checkTree(files)
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

/**
 * Finds paths that stand twice, or beneath something that is no directory. In an order in which `/` comes before all
 * else, what lies beneath a path follows it at once: neighbours tell, whatever the depth.
 */
function checkTree(files: ReadonlyArray<Record<string, unknown>>): void {
  const order = files.map(({ path, kind }, index) => ({ name: String(path).replaceAll('/', '\0'), kind, index }))
  order.sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : left.index - right.index))
  for (const [position, { name, index }] of order.entries()) {
    const before = order[position - 1]
    if (!before) continue
    if (before.name === name) throw invalid(`files[${index}].path`, 'stands twice')
    if (before.kind !== 'dir' && name.startsWith(`${before.name}\0`)) {
      throw invalid(`files[${index}].path`, 'is beneath an entry that is not a directory')
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
