import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Fewer things than this are not worth a collection, which takes some hundredths of a second. */
const MANY = 20_000

/**
 * For the beginning of a process that transfers much. That makes much garbage and keeps little: without these flags, V8
 * lets 100 MB of it pile up before it looks.
 */
export function keepGarbageSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--optimize-for-size')
}

/**
 * Called between two steps that need much memory each, on `count` things: frees at once what only the first one needed.
 * V8 by itself lets nearly as much again pile up before it looks.
 */
export function collectGarbageAfter(count: number): void {
  if (count < MANY) return
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}
