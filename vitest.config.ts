import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // On two cores vitest itself would use one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
})
