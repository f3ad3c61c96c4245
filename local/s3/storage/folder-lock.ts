import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const mine = new Set<string>()

/**
 * Keeps other servers out of a folder, whose unfinished writes they would take for garbage. The lock of a process that
 * is gone does not count.
 * @returns a function that gives the folder back
 * @throws Error when the folder is in use
 */
export function lockFolder(folder: string): () => void {
  const path = join(resolve(folder), 'server.pid')
  const inUse = (owner: number) =>
    new Error(
      `The folder ${folder} is served by process ${owner}: stop it, or take another folder (--dir). ` +
        `If that process is something else, remove ${path}.`,
    )
  if (mine.has(path)) throw inUse(process.pid)
  for (;;) {
    if (createLock(path)) break
    const owner = readOwner(path)
    if (owner !== undefined && owner !== process.pid && isAlive(owner)) throw inUse(owner)
    // Moved away under a name of our own first: of two that find a stale lock, one moves it.
    removeStale(path)
  }
  mine.add(path)
  return () => {
    if (mine.delete(path)) rmSync(path, { force: true })
  }
}

/** False when there is a lock. It appears with its content: no reader finds it empty. */
function createLock(path: string): boolean {
  const ready = `${path}.${process.pid}.${randomUUID()}`
  writeFileSync(ready, String(process.pid))
  try {
    linkSync(ready, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  } finally {
    rmSync(ready)
  }
}

function removeStale(path: string): void {
  const stale = `${path}.stale.${randomUUID()}`
  try {
    renameSync(path, stale)
    rmSync(stale)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function readOwner(path: string): number | undefined {
  try {
    const owner = Number(readFileSync(path, 'utf8'))
    return Number.isInteger(owner) && owner > 0 ? owner : undefined
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function isAlive(owner: number): boolean {
  try {
    process.kill(owner, 0)
    return true
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}
