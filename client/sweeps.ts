import type { SweepReport } from '../src/sweep/report.ts'
import type { StartSweepOptions, SweepService } from '../src/sweep/service.ts'
import type { Usage } from '../src/sweep/usage.ts'
import type { Transport } from './transport.ts'

interface ReportJson {
  sweep_id: string
  state: SweepReport['state']
  started_at: string
  seconds: number
  dry_run: boolean
  listed: number
  referenced: number
  condemned: number
  spared: number
  deleted: number
  bytes_freed: number
  cleared: number
  requests: number
  cost_usd: number
  failures: SweepReport['failures']
}

interface UsageJson {
  threads: number
  checkpoints: number
  referenced_blobs: number
  referenced_bytes: number
  logical_bytes: number
  unreferenced_blobs: number
  unreferenced_bytes: number
}

/** Sweeps over the API. To start one takes the role `project_admin`. */
export class ClientSweepService implements SweepService {
  readonly #transport: Transport
  readonly #base: string

  constructor(transport: Transport, base: string) {
    this.#transport = transport
    this.#base = base
  }

  async start({ olderThanMs, dryRun, waitMs }: StartSweepOptions = {}): Promise<{ sweepId: string }> {
    const body = { older_than_ms: olderThanMs, dry_run: dryRun, wait_ms: waitMs }
    // Two sweeps at once do no harm: it may be asked for again.
    const { sweep_id } = await this.#transport.call<{ sweep_id: string }>(`${this.#base}/sweeps`, body, 'sweep_id')
    return { sweepId: sweep_id }
  }

  async list({ limit }: { limit?: number } = {}): Promise<SweepReport[]> {
    const query = limit === undefined ? '' : `?${new URLSearchParams({ limit: String(limit) })}`
    const path = `${this.#base}/sweeps${query}`
    const { sweeps } = await this.#transport.call<{ sweeps: ReportJson[] }>(path, {}, 'sweeps', { method: 'GET' })
    return sweeps.map(readReport)
  }

  async usage(): Promise<Usage> {
    const path = `${this.#base}/usage`
    const usage = await this.#transport.call<UsageJson>(path, {}, 'threads', { method: 'GET' })
    return {
      threads: usage.threads,
      checkpoints: usage.checkpoints,
      referencedBlobs: usage.referenced_blobs,
      referencedBytes: usage.referenced_bytes,
      logicalBytes: usage.logical_bytes,
      unreferencedBlobs: usage.unreferenced_blobs,
      unreferencedBytes: usage.unreferenced_bytes,
    }
  }
}

function readReport({ sweep_id, started_at, dry_run, bytes_freed, cost_usd, ...report }: ReportJson): SweepReport {
  return {
    ...report,
    id: sweep_id,
    startedAt: Date.parse(started_at),
    dryRun: dry_run,
    bytesFreed: bytes_freed,
    costUsd: cost_usd,
  }
}
