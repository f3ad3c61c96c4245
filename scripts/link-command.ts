/** Makes `npx sandkeep` work in this checkout: npm links the commands of dependencies, but not the project's own. */
import { chmodSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'

const command = path.join(import.meta.dirname, '../dist/cli/main.js')
const link = path.join(import.meta.dirname, '../node_modules/.bin/sandkeep')
chmodSync(command, 0o755)
rmSync(link, { force: true })
symlinkSync(path.relative(path.dirname(link), command), link)
