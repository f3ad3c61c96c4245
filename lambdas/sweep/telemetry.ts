import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics'
import type { SweepReport } from '../../src/sweep/report.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { log } from '../shared/log.ts'

/** Told of each sweep of a scope that is over. */
export interface SweepTelemetry {
  finished(report: SweepReport): void
  failed(scope: Scope, error: unknown): void
}

/**
 * Log lines, and metrics in CloudWatch's embedded format: no scope is a dimension, since each would be a metric of its
 * own to pay for. `SweepFailed` counts sweeps that failed or left something that S3 would not delete, with zeroes for
 * the others, so that an alarm always has data.
 */
export function createTelemetry(): SweepTelemetry {
  const metrics = new Metrics({ namespace: 'Sandkeep', serviceName: 'sweep' })
  return {
    finished(report) {
      log('INFO', 'A sweep is over.', { report })
      metrics
        .addMetric('SweepDeleted', MetricUnit.Count, report.deleted)
        .addMetric('SweepBytesFreed', MetricUnit.Bytes, report.bytesFreed)
        .addMetric('SweepCondemned', MetricUnit.Count, report.condemned)
        .addMetric('SweepBytesWaiting', MetricUnit.Bytes, report.bytesWaiting ?? 0)
        .addMetric('SweepFailed', MetricUnit.Count, report.failures.length > 0 ? 1 : 0)
        .addMetric('SweepSeconds', MetricUnit.Seconds, report.seconds)
        .publishStoredMetrics()
    },
    failed(scope, error) {
      log('ERROR', 'A sweep failed.', { scope, error })
      metrics.addMetric('SweepFailed', MetricUnit.Count, 1).publishStoredMetrics()
    },
  }
}
