import path from 'node:path'
import { build } from 'esbuild'
import { BUNDLE_OPTIONS } from '../scripts/bundle-options.ts'

/** Makes one file of a script of this folder, as functions are. @returns where it is, in the folder that is given */
export async function bundleScript(name: string, folder: string): Promise<string> {
  const outfile = path.join(folder, `${name}.mjs`)
  await build({
    ...BUNDLE_OPTIONS,
    entryPoints: [path.join(import.meta.dirname, `${name}.ts`)],
    outfile,
    banner: { js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)" },
  })
  return outfile
}
