import type { SandboxCheckpointStore, SandboxCheckpointStoreOptions } from '../../src/checkpoints/types.ts'

/** Gives a fresh store that holds nothing. It must honour the options, `now` above all. */
export type MakeCheckpointStore = (
  options?: SandboxCheckpointStoreOptions,
) => SandboxCheckpointStore | Promise<SandboxCheckpointStore>

/** A clock that moves only when a check moves it. Milliseconds. */
export class TestClock {
  private time: number

  constructor(start: number) {
    this.time = start
  }

  readonly now = (): number => this.time

  advance(ms: number): void {
    this.time += ms
  }
}

/** What a check works with. */
export interface Subject {
  store: SandboxCheckpointStore
  clock: TestClock
  leaseDurationMs: number
  renewAfterMs: number
}

/** One rule of the contract. `run` throws when a store breaks it. */
export interface CheckpointStoreCheck {
  name: string
  run(makeStore: MakeCheckpointStore, options?: SandboxCheckpointStoreOptions): Promise<void>
}

const someDay = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

export function check(name: string, body: (subject: Subject) => Promise<void>): CheckpointStoreCheck {
  return {
    name,
    async run(makeStore, { now, leaseDurationMs = 60_000, renewAfterMs = leaseDurationMs / 4 } = {}) {
      const clock = new TestClock(now?.() ?? someDay)
      const store = await makeStore({ now: clock.now, leaseDurationMs, renewAfterMs })
      await body({ store, clock, leaseDurationMs, renewAfterMs })
    },
  }
}
