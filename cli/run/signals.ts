import { constants } from 'node:os'
import type { CommandContext, EndSignal } from '../context.ts'
import { InterruptedError } from '../errors.ts'
import { EXIT } from '../exit.ts'

/**
 * What becomes of signals in the course of a run: before its command they end it, then they are the command's, and while
 * the work is saved the first one is too late, and a second one ends the attempt.
 */
export class RunSignals {
  readonly #stop = new AbortController()
  readonly #release: () => void
  #handle: (signal: EndSignal) => void = (signal) => this.#end(signal)
  #ending: EndSignal | undefined

  constructor(context: CommandContext) {
    this.#release = context.takeSignals((signal) => this.#handle(signal))
  }

  /** Aborted with an InterruptedError. */
  get aborted(): AbortSignal {
    return this.#stop.signal
  }

  /** The exit code after a signal that ended the run; undefined when none has. */
  get exitCode(): number | undefined {
    return this.#ending && EXIT.signal + constants.signals[this.#ending]
  }

  passTo(command: { send(signal: NodeJS.Signals): unknown }): void {
    this.#handle = (signal) => command.send(signal)
  }

  /** @param onFirst told the first one */
  hold(onFirst: () => void): void {
    this.#handle = () => {
      this.#handle = (signal) => this.#end(signal)
      onFirst()
    }
  }

  release(): void {
    this.#release()
  }

  #end(signal: EndSignal): void {
    this.#ending ??= signal
    this.#stop.abort(new InterruptedError())
  }
}
