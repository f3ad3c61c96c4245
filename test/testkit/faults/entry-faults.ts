import { SandboxCheckpointInvalidEntryError } from '../../../src/checkpoints/errors.ts'
import type { SandboxCheckpoint, SandboxSnapshotEntry } from '../../../src/checkpoints/types.ts'
import { MemoryCheckpointStore } from '../../../testkit/memory-checkpoint-store.ts'
import { type Fault, storeFault, uncheckedEntryFault, uncheckedFault } from './fault.ts'

/** A check that the contract does not have. */
function tooStrictFault(name: string, isRefused: (entry: SandboxSnapshotEntry) => boolean): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      protected override checkEntries(checkpoint: SandboxCheckpoint): void {
        super.checkEntries(checkpoint)
        if (checkpoint.files.some(isRefused)) throw new SandboxCheckpointInvalidEntryError('too strict')
      }
    },
  )
}

function pathFault(name: string, obey: (path: string) => string): Fault {
  return uncheckedEntryFault(name, ({ path }) => ({ path: typeof path === 'string' ? obey(path) : path }))
}

function without(kinds: string[], fields: string[]): (entry: SandboxSnapshotEntry) => object {
  return (entry) => (kinds.includes(entry.kind) ? Object.fromEntries(fields.map((field) => [field, 0])) : {})
}

/** Sees only the own entries of a kind that may have entries beneath it. */
function dropped(
  fields: ReadonlyArray<string>,
  kinds: ReadonlyArray<string>,
): (checkpoint: SandboxCheckpoint) => object {
  return ({ files }) => ({
    files: Array.isArray(files)
      ? files.map((entry) =>
          typeof entry === 'object' && entry !== null && kinds.includes(entry.kind)
            ? Object.fromEntries(Object.entries(entry).filter(([field]) => !fields.includes(field)))
            : entry,
        )
      : files,
  })
}

function artifactFault(name: string, fields: object): Fault {
  return uncheckedFault(name, ({ artifacts }) => ({
    artifacts: Array.isArray(artifacts)
      ? artifacts.map((each) => (typeof each === 'object' && each !== null ? { ...each, ...fields } : each))
      : artifacts,
  }))
}

const validKey = `sandbox-files/sha256/${'0'.repeat(64)}`
const validArtifactKey = `sandbox-artifacts/sha256/${'0'.repeat(64)}`

export const entryFaults: Fault[] = [
  uncheckedFault('files are not checked', () => ({ files: [] })),
  uncheckedFault('files need not be an array', ({ files }) => ({ files: Array.isArray(files) ? files : [] })),
  uncheckedFault('an entry need not be an object', ({ files }) => ({
    files: Array.isArray(files) ? files.filter((entry) => typeof entry === 'object' && entry !== null) : files,
  })),
  uncheckedFault('artifacts are not checked', () => ({ artifacts: [] })),
  uncheckedFault('artifacts need not be an array', ({ artifacts }) => ({
    artifacts: Array.isArray(artifacts) ? artifacts : [],
  })),
  uncheckedFault('createdAt is not checked', () => ({ createdAt: 0 })),
  uncheckedFault('createdAt may be infinite', ({ createdAt }) => ({
    createdAt: Math.abs(createdAt) === Number.POSITIVE_INFINITY ? 0 : createdAt,
  })),
  uncheckedFault('createdAt may be numeric text', ({ createdAt }) => ({
    createdAt: typeof createdAt === 'string' ? Number(createdAt) : createdAt,
  })),
  uncheckedFault('values that are not JSON are not looked for', () => ({ conversation: [] })),

  pathFault('a path may hold NUL', (path) => path.replaceAll('\0', '_')),
  pathFault('a path may hold a backslash', (path) => path.replaceAll('\\', '_')),
  pathFault('a path may begin with /', (path) => (path === '/' ? path : path.replace(/^\//, ''))),
  pathFault('a path may begin with a drive', (path) => path.replace(/^[A-Za-z]:(?=\/|$)/, 'c')),
  pathFault('a path may be a drive alone', (path) => path.replace(/^[A-Za-z]:$/, 'c')),
  pathFault('a path may end with /', (path) => path.replace(/(.)\/$/, '$1')),
  pathFault('a path may have an empty part', (path) => path.replace(/(.)\/\/(.)/, '$1/$2')),
  pathFault('a path may have a part .', (path) => path.replace(/(^|\/)\.(?=\/|$)/g, '$1_')),
  pathFault('a path may have a part ..', (path) => path.replace(/(^|\/)\.\.(?=\/|$)/g, '$1_')),
  pathFault('a path may have .. behind a name', (path) => path.replace(/(.\/)\.\.(?=\/|$)/g, '$1_')),
  pathFault('a path may be empty', (path) => path || 'x'),

  uncheckedEntryFault('a blob key is not checked', (entry) => (entry.kind === 'file' ? { blobKey: validKey } : {})),
  uncheckedEntryFault('a blob key may end with a newline', (entry) =>
    entry.kind === 'file' && typeof entry.blobKey === 'string' ? { blobKey: entry.blobKey.replace(/\n$/, '') } : {},
  ),
  uncheckedEntryFault('a blob key may have uppercase digits', (entry) =>
    entry.kind === 'file' && typeof entry.blobKey === 'string' ? { blobKey: entry.blobKey.toLowerCase() } : {},
  ),
  uncheckedEntryFault('a file may have the key of an artifact', (entry) =>
    entry.kind === 'file' && typeof entry.blobKey === 'string'
      ? { blobKey: entry.blobKey.replace('artifacts', 'files') }
      : {},
  ),
  uncheckedEntryFault('a size is not checked', without(['file'], ['size'])),
  uncheckedEntryFault('a size may be a fraction', (entry) =>
    entry.kind === 'file' && entry.size > 0 ? { size: Math.trunc(entry.size) } : {},
  ),
  uncheckedEntryFault('a size may be negative', (entry) =>
    entry.kind === 'file' && entry.size < 0 ? { size: -entry.size } : {},
  ),
  uncheckedEntryFault('a mode is not checked', without(['file'], ['mode'])),
  uncheckedEntryFault('a mode may have more bits', (entry) =>
    entry.kind === 'file' && Number(entry.mode) > 0o7777 ? { mode: 0 } : {},
  ),
  uncheckedFault('a directory may have a blob key', dropped(['blobKey'], ['dir'])),
  uncheckedFault('a directory may have a size', dropped(['size'], ['dir'])),
  uncheckedFault('a symlink may have a blob key', dropped(['blobKey'], ['symlink'])),
  uncheckedFault('a symlink may have a size', dropped(['size'], ['symlink'])),
  uncheckedEntryFault('a symlink needs no target', (entry) => (entry.kind === 'symlink' ? { target: 'x' } : {})),
  uncheckedEntryFault('a target may hold NUL', (entry) =>
    entry.kind === 'symlink' && typeof entry.target === 'string' ? { target: entry.target.replaceAll('\0', '_') } : {},
  ),
  uncheckedEntryFault('an unknown kind is taken for a directory', ({ kind }) =>
    kind === undefined || ['file', 'dir', 'symlink'].includes(kind) ? {} : { kind: 'dir' },
  ),
  uncheckedEntryFault('a missing kind is taken for a directory', ({ kind }) => ({ kind: kind ?? 'dir' })),
  uncheckedFault('a path may stand twice', ({ files }) => ({
    files: Array.isArray(files) ? [...new Map(files.map((entry) => [entry?.path, entry])).values()] : files,
  })),
  uncheckedFault('a path may stand twice with different kinds', ({ files }) => ({
    files: Array.isArray(files)
      ? [...new Map(files.map((entry) => [`${entry?.kind} ${entry?.path}`, entry])).values()].map((entry, index) =>
          files.some((other, at) => at < index && other?.path === entry?.path && other?.kind !== entry?.kind)
            ? { ...entry, path: `${entry?.path}-${index}` }
            : entry,
        )
      : files,
  })),
  uncheckedFault('an entry may be beneath an earlier file', beneath('earlier', 'file')),
  uncheckedFault('a file may be above an earlier entry', beneath('later', 'file')),
  uncheckedFault('an entry may be beneath an earlier symlink', beneath('earlier', 'symlink')),
  uncheckedFault('a symlink may be above an earlier entry', beneath('later', 'symlink')),
  uncheckedFault('only the direct parent is looked at', ({ files }) => ({
    files: Array.isArray(files)
      ? files.map((entry, index) =>
          typeof entry?.path === 'string' && files.some((other) => isFarBeneath(entry.path, other))
            ? { ...entry, path: `moved-${index}` }
            : entry,
        )
      : files,
  })),

  artifactFault('an artifact id is not checked', { artifactId: 'x' }),
  artifactFault('the name of an artifact is not checked', { name: 'x' }),
  artifactFault('the type of an artifact is not checked', { mimeType: 'x' }),
  artifactFault('the key of an artifact is not checked', { blobKey: validArtifactKey }),
  artifactFault('the size of an artifact is not checked', { size: 0 }),
  artifactFault('the time of an artifact is not checked', { createdAt: 0 }),

  tooStrictFault('symlinks are refused', (entry) => entry.kind === 'symlink'),
  tooStrictFault(
    'symlinks that leave the workspace are refused',
    (entry) => 'target' in entry && /^\.\./.test(entry.target),
  ),
  tooStrictFault('paths with lone surrogates are refused', (entry) => !entry.path.isWellFormed()),
  tooStrictFault('paths that begin with a letter and a colon are refused', (entry) => /^[A-Za-z]:/.test(entry.path)),
  tooStrictFault('empty files are refused', (entry) => entry.kind === 'file' && entry.size === 0),
  tooStrictFault('executable files are refused', (entry) => entry.kind === 'file' && Boolean(entry.mode)),
  tooStrictFault('directories of which files tell already are refused', (entry) => entry.kind === 'dir'),
]

/** The checks do not see that an entry is beneath another of this kind that stands on that side of it. */
function beneath(side: 'earlier' | 'later', kind: string): (checkpoint: SandboxCheckpoint) => object {
  return ({ files }) => ({
    files: Array.isArray(files)
      ? files.map((entry, index) => {
          const hidden = files.some(
            (other, at) =>
              other?.kind === kind &&
              (side === 'earlier' ? at < index : at > index) &&
              String(entry?.path).startsWith(`${other.path}/`),
          )
          return hidden ? { ...entry, path: `moved-${index}` } : entry
        })
      : files,
  })
}

function isFarBeneath(path: string, other: SandboxSnapshotEntry | null): boolean {
  return other !== null && path.startsWith(`${other.path}/`) && path.slice(other.path.length + 1).includes('/')
}
