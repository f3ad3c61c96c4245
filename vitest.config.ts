import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const include = ['test/**/*.test.ts']
/** Replaced modules, and what is set before modules are loaded, would be so for the files after it too. */
const own = globSync(include).filter((file) => /vi\.(mock|hoisted)\(/.test(readFileSync(file, 'utf8')))

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    // On two cores vitest itself would use one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      // Loading the SDK and the CDK anew for each file takes longer than most tests.
      { extends: true, test: { name: 'shared', include, exclude: own, isolate: false } },
      { extends: true, test: { name: 'isolated', include: own } },
    ],
  },
})
