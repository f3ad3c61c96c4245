import type { BuildOptions } from 'esbuild'

/** How the stack bundles its functions, for esbuild itself. */
export const BUNDLE_OPTIONS = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  mainFields: ['module', 'main'],
  minify: true,
  keepNames: true,
} satisfies BuildOptions
