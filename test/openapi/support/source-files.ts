import { readdir } from 'node:fs/promises'
import path from 'node:path'

/** The paths of the TypeScript files in a folder, at any depth. */
export async function sourceFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  return names.filter((name) => name.endsWith('.ts')).map((name) => path.join(folder, name))
}
