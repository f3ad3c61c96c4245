import { parseArgs } from 'node:util'
import { startEngines } from '../support/engines.ts'
import { soak } from './soak.ts'

/** `npm run soak -- --minutes 10 [--seed 7]`: prints the totals after each round; exits 1 when anything is lost or left. */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
  },
})
const [minutes, seed] = [Number(values.minutes), Number(values.seed)]
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  process.stderr.write('Usage: npm run soak -- [--minutes N] [--seed N]\n')
  process.exit(2)
}
process.stdout.write(`seed ${seed}\n`)
const engines = await startEngines()
try {
  const result = await soak(engines, {
    ms: minutes * 60_000,
    seed,
    log: (line) => process.stdout.write(`${line}\n`),
  })
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  process.exitCode = result.lost.length === 0 && result.atRest.unreferencedBlobs === 0 ? 0 : 1
} finally {
  await engines.stop()
}
