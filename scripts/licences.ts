/** `npm run licences`: what is deployed besides the code of the project, under which licences, and how large it is. */
import { table } from '../bench/harness.ts'
import { ALLOWED_LICENCES, bundledPackages } from './bundled-packages.ts'

const packages = await bundledPackages()
process.stdout.write(table(packages.map((each) => ({ ...each }))))
const refused = packages.filter(({ licence }) => !ALLOWED_LICENCES.has(licence))
if (refused.length > 0) {
  process.stderr.write(`Not allowed: ${refused.map(({ name, licence }) => `${name} (${licence})`).join(', ')}\n`)
  process.exitCode = 1
}
