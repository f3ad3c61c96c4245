import { execFile } from 'node:child_process'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const FOLDER = path.join(tmpdir(), 'sandkeep-bench-peers')

/**
 * A package that only this comparison needs, installed outside of the project at its first use.
 * @throws Error when it cannot be had
 */
export async function importPeer(name: string, version: string, entry: string): Promise<Record<string, unknown>> {
  const file = path.join(FOLDER, 'node_modules', name, entry)
  try {
    await access(file)
  } catch {
    await mkdir(FOLDER, { recursive: true })
    await writeFile(path.join(FOLDER, 'package.json'), '{"private":true}\n')
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', `${name}@${version}`], { cwd: FOLDER })
  }
  return import(pathToFileURL(file).href)
}
