#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { createClient } from '../client/index.ts'
import { InterruptedError } from './errors.ts'
import { EXIT } from './exit.ts'
import { run } from './program.ts'

// A transfer makes much garbage and keeps little: without these, V8 lets 100 MB of it pile up before it looks.
setFlagsFromString('--semi-space-growth-factor=1')
setFlagsFromString('--optimize-for-size')

const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // The first one lets the command put things in order; who asks again does not want to wait for that.
    if (interrupt.signal.aborted) process.exit(EXIT.interrupted)
    interrupt.abort(new InterruptedError())
  })
}

// The reader of a pipe may stop early, as `head` does; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  throw error
})

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interrupt.signal,
  connect: (settings, signal) => createClient({ ...settings, ...(signal && { signal }) }),
})
