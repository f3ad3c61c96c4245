import { createHash } from 'node:crypto'
import pMap from 'p-map'
import { createBlobStore } from '../../src/blobs/store.ts'
import { SandboxCheckpointError } from '../../src/checkpoints/errors.ts'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import { UnavailableError } from '../../src/errors.ts'
import { sweepScope } from '../../src/sweep/scope-sweep.ts'
import { readUsage, type Usage } from '../../src/sweep/usage.ts'
import { Table } from '../../src/table/table.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { seededRandom } from '../store/support/stores.ts'
import type { Engines } from '../support/engines.ts'
import { Killed } from './support/actors.ts'
import { HOUR_MS } from './support/scope-under-sweep.ts'
import { SoakWriter } from './support/soak-writer.ts'
import { type UnreliableClients, unreliableClients } from './support/unreliable.ts'

const WRITERS = 16
const SWEEPERS = 3
const ROUND_MS = 6_000
/** Short, so that the leases of the killed end soon. */
const LEASE_MS = 3_000
/** How far the clocks of the actors are apart. S3 tells whole seconds, so that a blob may seem a second older. */
const CLOCK_SKEW_MS = 1_500
/** Of sessions and sweeps. */
const KILLED = 0.1
const LATEST_KILL = 40

export interface SoakResult {
  rounds: number
  append: number
  fork: number
  prune: number
  deleteHead: number
  sweeps: number
  condemned: number
  spared: number
  deleted: number
  kills: number
  faults: number
  /** Blobs of live checkpoints that were read and hashed, after all rounds together. */
  verified: number
  /** Blobs of live checkpoints that were gone, or not what their key says. */
  lost: string[]
  /** After two sweeps at rest. */
  atRest: Usage
}

type Totals = Omit<SoakResult, 'lost' | 'atRest'>

/**
 * Writers and sweepers on one scope, killed and failed at random; after each round every blob of every live checkpoint
 * is read, while the sweepers go on.
 */
export async function soak(
  engines: Engines,
  { ms, seed, log }: { ms: number; seed: number; log?: (line: string) => void },
): Promise<SoakResult> {
  return new Soak(engines, seed).run(ms, log)
}

class Soak {
  readonly #engines: Engines
  readonly #scope: Scope
  readonly #seed: number
  readonly #threads = new Set<string>()
  readonly #networks: UnreliableClients[] = []
  readonly #lost: string[] = []
  readonly #totals: Totals = {
    ...{ rounds: 0, append: 0, fork: 0, prune: 0, deleteHead: 0, sweeps: 0, condemned: 0, spared: 0, deleted: 0 },
    ...{ kills: 0, faults: 0, verified: 0 },
  }
  #over = false

  constructor(engines: Engines, seed: number) {
    this.#engines = engines
    this.#scope = engines.freshScope()
    this.#seed = seed
  }

  async run(ms: number, log?: (line: string) => void): Promise<SoakResult> {
    const end = Date.now() + ms
    const sweepers = Array.from({ length: SWEEPERS }, (_, index) => this.#sweeper(index))
    // One that fails ends the soak, rather than be missed.
    const failed = Promise.all(sweepers)
    failed.catch(() => undefined)
    const writers = Array.from({ length: WRITERS }, (_, index) => this.#writer(index))
    try {
      while (Date.now() < end && this.#lost.length === 0) {
        const roundEnd = Math.min(Date.now() + ROUND_MS, end)
        const round = Promise.all(writers.map((writer) => writer(roundEnd)))
        await Promise.race([round, failed])
        await this.#verify()
        this.#totals.rounds += 1
        log?.(JSON.stringify(this.#totals))
      }
    } finally {
      this.#over = true
    }
    await failed
    for (const { settled } of this.#networks) await settled()
    await this.#verify()
    return { ...this.#totals, lost: this.#lost, atRest: await this.#rest() }
  }

  /** What a writer does in one round. */
  #writer(index: number): (roundEnd: number) => Promise<void> {
    const { random, network, now } = this.#actor(index)
    const writer = new SoakWriter({
      ...{
        engines: this.#engines,
        clients: network.clients,
        scope: this.#scope,
        leaseDurationMs: LEASE_MS,
        random,
        now,
      },
      ...{ name: `writer-${index}`, threads: this.#threads },
      did: (what) => {
        this.#totals[what] += 1
      },
    })
    return async (roundEnd) => {
      while (Date.now() < roundEnd) await this.#live(network, random, () => writer.session())
    }
  }

  async #sweeper(index: number): Promise<void> {
    const { random, network, now } = this.#actor(1_000 + index)
    const table = new Table(network.clients.dynamodb, this.#engines.tableName)
    let resumeAfter: string | undefined
    while (!this.#over) {
      const after = resumeAfter
      resumeAfter = undefined
      const hurries = random() < 0.2
      await this.#live(network, random, async () => {
        const { s3 } = network.clients
        const { bucketName } = this.#engines
        const result = await sweepScope({
          ...{ table, s3, bucketName, scope: this.#scope, now, olderThanMs: 0, dryRun: false, resumeAfter: after },
          waitMs: random() < 0.5 ? 0 : 2_000,
          timeIsUp: () => hurries && random() < 0.05,
        })
        resumeAfter = result.resumeAfter
        this.#totals.sweeps += 1
        for (const name of ['condemned', 'spared', 'deleted'] as const) this.#totals[name] += result.counts[name]
      })
    }
  }

  #actor(index: number): { random: () => number; network: UnreliableClients; now: () => number } {
    const random = seededRandom(this.#seed * 10_000 + index)
    const skew = Math.floor(random() * CLOCK_SKEW_MS)
    const network = unreliableClients(this.#engines, random)
    this.#networks.push(network)
    return { random, network, now: () => Date.now() + skew }
  }

  /** One life of an actor: it may be killed, refused and cut off, but nothing else may go wrong. */
  async #live(network: UnreliableClients, random: () => number, work: () => Promise<void>): Promise<void> {
    if (random() < KILLED) network.killAt(1 + Math.floor(random() * LATEST_KILL))
    const faults = network.faults
    try {
      await work()
    } catch (error) {
      if (error instanceof Killed) this.#totals.kills += 1
      else if (!(error instanceof SandboxCheckpointError || error instanceof UnavailableError)) throw error
    } finally {
      network.revive()
      this.#totals.faults += network.faults - faults
    }
  }

  async #verify(): Promise<void> {
    const config = { ...this.#engines, scope: this.#scope }
    const checkpoints = createCheckpointStore(config)
    const blobs = createBlobStore(config)
    const users = new Map<string, string>()
    for (const thread of this.#threads) {
      for (const { id, files } of await checkpoints.list(thread)) {
        for (const file of files) if (file.kind === 'file') users.set(file.blobKey, id)
      }
    }
    await pMap(
      users,
      async ([key, id]) => {
        const body = await blobs.get(key)
        const hash =
          body &&
          createHash('sha256')
            .update(Buffer.from(await body.arrayBuffer()))
            .digest('hex')
        if (hash === null || !key.endsWith(hash)) this.#lost.push(`${key} of ${id}`)
      },
      { concurrency: 16 },
    )
    this.#totals.verified += users.size
  }

  /** Two sweeps when all leases have ended. */
  async #rest(): Promise<Usage> {
    const table = new Table(this.#engines.dynamodb, this.#engines.tableName)
    const { s3, bucketName } = this.#engines
    const stores = { table, s3, bucketName, scope: this.#scope }
    const now = () => Date.now() + HOUR_MS
    for (let sweeps = 0; sweeps < 2; sweeps++) {
      await sweepScope({ ...stores, now, olderThanMs: 0, dryRun: false, waitMs: 0 })
    }
    return readUsage(stores)
  }
}
