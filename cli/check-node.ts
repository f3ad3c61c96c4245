// To be imported before all else: the other modules may already fail to load on an older Node.
import { nodeRefusal } from './node-version.ts'

const refusal = nodeRefusal(process.versions.node)
if (refusal !== undefined) {
  process.stderr.write(`${refusal}\n`)
  process.exit(1)
}
