import { readlink } from 'node:fs/promises'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { errnoOf, RefusedError } from '../errors.ts'
import { printablePath } from '../format.ts'
import { foldersAbove, join, parentOf } from './paths.ts'

const MAX_LINK_HOPS = 40

/** The target of the link at a path, null when there is none. */
type LinkAt = (path: string) => Promise<string | null>

/**
 * Refuses symlinks of a checkpoint that end or pass outside the target, also by way of other links: those of the
 * checkpoint, and those that are in the target and that the checkpoint does not replace.
 * @throws RefusedError that names every such link.
 */
export async function refuseExternalLinks(root: string, entries: ReadonlyArray<SandboxSnapshotEntry>): Promise<void> {
  const links = new Map<string, string>()
  const others = foldersAbove(entries.map(({ path }) => path))
  for (const entry of entries) {
    if (entry.kind === 'symlink') links.set(entry.path, entry.target)
    else others.add(entry.path)
  }
  const linkAt: LinkAt = async (path) => links.get(path) ?? (others.has(path) ? null : await targetOf(join(root, path)))
  const external: string[] = []
  for (const [path, target] of links) {
    if (await leaves(parentOf(path), target, linkAt)) {
      external.push(`${printablePath(path)} -> ${printablePath(target)}`)
    }
  }
  if (external.length === 0) return
  throw new RefusedError('Symlinks lead out of the target (--no-external-links); nothing was written.', external)
}

async function targetOf(path: string): Promise<string | null> {
  try {
    return await readlink(path)
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'EINVAL' || code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return null
    throw error
  }
}

/** Whether a link target, walked from `folder` through the links on its way, ends or passes outside the top. */
async function leaves(folder: string, target: string, linkAt: LinkAt): Promise<boolean> {
  const at = folder === '' ? [] : folder.split('/')
  const ahead = [target]
  for (let hops = 0; ahead.length > 0; ) {
    const text = ahead.pop() ?? ''
    if (text.startsWith('/')) return true
    const slash = text.indexOf('/')
    const part = slash === -1 ? text : text.slice(0, slash)
    if (slash !== -1) ahead.push(text.slice(slash + 1).replace(/^\/+/, ''))
    if (part === '' || part === '.') continue
    if (part === '..') {
      if (at.pop() === undefined) return true
      continue
    }
    at.push(part)
    const next = await linkAt(at.join('/'))
    if (next === null) continue
    at.pop()
    hops += 1
    // A loop of links leads nowhere.
    if (hops > MAX_LINK_HOPS) return false
    ahead.push(next)
  }
  return false
}
