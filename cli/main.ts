#!/usr/bin/env node
import './check-node.ts'

import { createClient } from '../client/index.ts'
import type { EndSignal } from './context.ts'
import { InterruptedError } from './errors.ts'
import { EXIT } from './exit.ts'
import { keepGarbageSmall } from './memory.ts'
import { run } from './program.ts'
import { systemTimers } from './timers.ts'

keepGarbageSmall()

const interrupt = new AbortController()
/** Who has taken the signals. */
let taker: ((signal: EndSignal) => void) | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (taker) {
      taker(signal)
      return
    }
    // The first one lets the command put things in order; who asks again does not want to wait for that.
    if (interrupt.signal.aborted) process.exit(EXIT.interrupted)
    interrupt.abort(new InterruptedError())
  })
}

// The reader of a pipe may stop early, as `head` does; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (taker) return
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? EXIT.ok)
  throw error
})

// A terminal that is closed takes no messages any more; what is to be saved then is saved all the same.
process.stderr.on('error', (error) => {
  if (!taker) throw error
})

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interrupt.signal,
  takeSignals(listener) {
    taker = listener
    return () => {
      taker = undefined
    }
  },
  timers: systemTimers,
  connect: (settings, signal) => createClient({ ...settings, ...(signal && { signal }) }),
})
