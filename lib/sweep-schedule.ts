import { Duration } from 'aws-cdk-lib'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler'
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets'
import { Construct } from 'constructs'

export interface SweepScheduleProps {
  readonly handler: IFunction
  readonly rate: Duration
}

/** Starts the sweep at a fixed rate. */
export class SweepSchedule extends Construct {
  constructor(scope: Construct, id: string, props: SweepScheduleProps) {
    super(scope, id)
    new Schedule(this, 'Schedule', {
      description: 'Removes what no checkpoint uses any more.',
      schedule: ScheduleExpression.rate(props.rate),
      // A sweep that was missed is made up for by the next one, so an old event is not worth delivering.
      target: new LambdaInvoke(props.handler, { retryAttempts: 3, maxEventAge: Duration.hours(1) }),
    })
  }
}
