import { Duration, Stack } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import { type Alarm, AlarmStatusWidget, Dashboard, GraphWidget, type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'

export interface SandkeepDashboardProps {
  readonly restApi: RestApi
  readonly table: Table
  readonly functions: readonly IFunction[]
  readonly alarms: readonly Alarm[]
}

const WIDTH = 12

/** One page with what the runbooks speak of. */
export class SandkeepDashboard extends Construct {
  constructor(scope: Construct, id: string, { restApi, table, functions, alarms }: SandkeepDashboardProps) {
    super(scope, id)
    const graph = (title: string, ...left: IMetric[]) => new GraphWidget({ title, left, width: WIDTH })
    const ofEach = (metric: (of: IFunction) => IMetric) => functions.map(metric)
    new Dashboard(this, 'Dashboard', {
      dashboardName: Stack.of(this).stackName,
      defaultInterval: Duration.days(1),
      widgets: [
        [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 2 * WIDTH })],
        [
          graph('Requests', restApi.metricCount()),
          graph('Refused and failed', restApi.metricClientError(), restApi.metricServerError()),
        ],
        [
          graph('Latency', restApi.metricLatency({ statistic: 'p50' }), restApi.metricLatency({ statistic: 'p99' })),
          graph('Duration p99', ...ofEach((each) => each.metricDuration({ statistic: 'p99' }))),
        ],
        [
          graph('Errors', ...ofEach((each) => each.metricErrors())),
          graph('Throttles', ...ofEach((each) => each.metricThrottles())),
        ],
        [
          graph('Table', table.metricConsumedReadCapacityUnits(), table.metricConsumedWriteCapacityUnits()),
          graph('Sweep', ...['SweepBytesFreed', 'SweepBytesWaiting'].map(sweepMetric)),
        ],
      ],
    })
  }
}

function sweepMetric(metricName: string): Metric {
  const period = Duration.hours(1)
  return new Metric({
    namespace: 'Sandkeep',
    metricName,
    dimensionsMap: { service: 'sweep' },
    statistic: 'Sum',
    period,
  })
}
