import { Duration } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import {
  Alarm,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import { Operation, type Table } from 'aws-cdk-lib/aws-dynamodb'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'

export interface AlarmsProps {
  readonly restApi: RestApi
  readonly table: Table
  readonly sweep: IFunction
  readonly sweepRate: Duration
  /** The functions of the API that answer at once; those that stream take as long as what they stream. */
  readonly answering: readonly IFunction[]
  /** All functions. */
  readonly functions: readonly IFunction[]
  /** Told of every alarm, and of its end. */
  readonly action?: IAlarmAction
}

const PERIOD = Duration.minutes(5)
const RUNBOOKS = 'docs/runbooks'

/** The operations that the functions use: CloudWatch counts throttled requests for each by itself. */
const operations = [
  Operation.BATCH_GET_ITEM,
  Operation.DELETE_ITEM,
  Operation.GET_ITEM,
  Operation.PUT_ITEM,
  Operation.QUERY,
  Operation.TRANSACT_GET_ITEMS,
  Operation.TRANSACT_WRITE_ITEMS,
  Operation.UPDATE_ITEM,
]

/** What somebody has to look at. Each alarm has a page of what to do, named in its description. */
export class Alarms extends Construct {
  readonly all: readonly Alarm[]

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id)
    const { restApi, table, sweep, sweepRate, answering, functions, action } = props
    const alarm = (name: string, what: string, options: AlarmOptions): Alarm => {
      const made = new Alarm(this, name, {
        alarmDescription: `${what} See ${RUNBOOKS}/${pageOf(name)}.md.`,
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        treatMissingData: TreatMissingData.NOT_BREACHING,
        evaluationPeriods: 1,
        ...options,
      })
      if (action) {
        made.addAlarmAction(action)
        made.addOkAction(action)
      }
      return made
    }
    this.all = [
      alarm('ApiErrors', 'More than one request in a hundred is answered with 5xx.', {
        metric: restApi.metricServerError({ period: PERIOD, statistic: 'Average' }),
        threshold: 0.01,
        evaluationPeriods: 3,
        datapointsToAlarm: 2,
      }),
      ...sums(functions.map((each) => each.metricErrors({ period: PERIOD }))).map((metric, index) =>
        alarm(`FunctionErrors${index + 1}`, 'A function failed instead of answering.', { metric, threshold: 0 }),
      ),
      ...[
        ...sums(functions.map((each) => each.metricThrottles({ period: PERIOD }))),
        table.metricThrottledRequestsForOperations({ period: PERIOD, operations }),
      ].map((metric, index) =>
        alarm(`Throttles${index + 1}`, 'Requests are refused for lack of capacity.', {
          metric,
          threshold: 10,
          evaluationPeriods: 3,
          datapointsToAlarm: 2,
        }),
      ),
      alarm('Latency', 'One answer in a hundred takes more than ten seconds.', {
        metric: largestOf(answering.map((each) => each.metricDuration({ period: PERIOD, statistic: 'p99' }))),
        threshold: 10_000,
        evaluationPeriods: 3,
        datapointsToAlarm: 2,
      }),
      alarm('SweepFailed', 'A sweep failed, or left something that S3 would not delete.', {
        metric: sweepMetric('SweepFailed', 'Sum', Duration.hours(1)),
        threshold: 0,
      }),
      alarm('SweepLate', 'The sweep was not called for two of its periods.', {
        metric: sweep.metricInvocations({ period: sweepRate }),
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        threshold: 1,
        evaluationPeriods: 2,
        treatMissingData: TreatMissingData.BREACHING,
      }),
      alarm('BytesUnreferenced', 'More than 100 GiB wait to be deleted, and sweeps do not get on with it.', {
        metric: sweepMetric('SweepBytesWaiting', 'Maximum', Duration.days(1)),
        threshold: 107_374_182_400,
        evaluationPeriods: 2,
      }),
    ]
  }
}

type AlarmOptions = Pick<ConstructorParameters<typeof Alarm>[2], 'metric' | 'threshold'> &
  Partial<ConstructorParameters<typeof Alarm>[2]>

/** `Throttles2` has the page `throttles`. */
function pageOf(name: string): string {
  return name
    .replace(/\d+$/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
    .toLowerCase()
}

/** A metric that the sweep function writes: see `lambdas/sweep/telemetry.ts`. */
function sweepMetric(metricName: string, statistic: string, period: Duration): Metric {
  return new Metric({ namespace: 'Sandkeep', metricName, dimensionsMap: { service: 'sweep' }, statistic, period })
}

/** What an alarm can take together at most. */
const MAX_METRICS = 10

/** As few sums as can be of all the metrics. */
function sums(metrics: IMetric[]): IMetric[] {
  const groups = Object.values(Object.groupBy(metrics, (_metric, index) => Math.floor(index / MAX_METRICS)))
  return groups.map((group) => combined('SUM', group ?? []))
}

function largestOf(metrics: IMetric[]): IMetric {
  return combined('MAX', metrics)
}

function combined(operator: 'SUM' | 'MAX', metrics: IMetric[]): IMetric {
  const usingMetrics = Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric]))
  return new MathExpression({ expression: `${operator}(METRICS())`, usingMetrics, period: PERIOD })
}
