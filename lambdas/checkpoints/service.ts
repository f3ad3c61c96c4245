import type { BlobBulk, BlobExchange, BlobStore } from '../../src/blobs/types.ts'
import type { CheckpointStore } from '../../src/checkpoints/store.ts'
import type { SweepService } from '../../src/sweep/service.ts'
import type { Call } from '../shared/request.ts'

/** The stores of a request's scope. */
export interface Services {
  checkpoints(call: Call): CheckpointStore
  blobs(call: Call): BlobStore & BlobExchange & BlobBulk
  sweeps(call: Call): SweepService
}
