import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import * as z from 'zod'

/** What must be the same at every start on one folder. */
export interface Settings {
  /** A platform key; none before the first start is through. */
  apiKey?: string | undefined
  /** What requests to the bucket are signed with. */
  credentials: { accessKeyId: string; secretAccessKey: string }
}

const schema = z.strictObject({
  apiKey: z.string().optional(),
  credentials: z.strictObject({ accessKeyId: z.string(), secretAccessKey: z.string() }),
})

export function newSettings(): Settings {
  return {
    credentials: {
      accessKeyId: `LOCAL${randomBytes(8).toString('hex').toUpperCase()}`,
      secretAccessKey: randomBytes(20).toString('hex'),
    },
  }
}

/** The settings in a folder, or new ones. @throws Error when the file is there and is not as it was written */
export async function readSettings(dir: string): Promise<Settings> {
  const file = settingsFile(dir)
  try {
    return schema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return newSettings()
    if (error instanceof SyntaxError || error instanceof z.ZodError) {
      throw new Error(`${file} is damaged. Remove it to get a new key; the data stays.`, { cause: error })
    }
    throw error
  }
}

/** Writes the settings so that only the owner can read them, whole or not at all. */
export async function writeSettings(dir: string, settings: Settings): Promise<void> {
  const file = settingsFile(dir)
  const temporary = `${file}.new`
  await writeFile(temporary, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 })
  await rename(temporary, file)
}

function settingsFile(dir: string): string {
  return path.join(dir, 'local.json')
}
