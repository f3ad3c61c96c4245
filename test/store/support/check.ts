import { test } from 'vitest'

/** Tests that an independent engine fails, with what it does otherwise. */
const CANNOT: { [engine: string]: { [test: string]: string } } = {
  moto: {},
}

/** A test that every engine must pass, but for those that the engine of SANDKEEP_ENGINE is known not to pass. */
export function check(name: string, run: () => Promise<void> | void, options: { timeout?: number } = {}): void {
  if (CANNOT[process.env.SANDKEEP_ENGINE ?? '']?.[name] === undefined) test(name, options, run)
}
