import { readFileSync, rmSync, writeFileSync } from 'node:fs'
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
  const owner = readOwner(path)
  if (mine.has(path) || (owner !== undefined && owner !== process.pid && isAlive(owner))) {
    throw new Error(`The folder ${folder} is served by process ${owner}: stop it, or remove ${path}`)
  }
  writeFileSync(path, String(process.pid))
  mine.add(path)
  return () => {
    if (mine.delete(path)) rmSync(path, { force: true })
  }
}

function readOwner(path: string): number | undefined {
  try {
    const owner = Number(readFileSync(path, 'utf8'))
    return Number.isInteger(owner) && owner > 0 ? owner : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function isAlive(owner: number): boolean {
  try {
    process.kill(owner, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
