import { Duration, Stack } from 'aws-cdk-lib'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { CfnFunction, IFunction } from 'aws-cdk-lib/aws-lambda'
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler'
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets'
import { Construct } from 'constructs'
import { acknowledge } from './acknowledge.ts'

export interface SweepScheduleProps {
  readonly handler: IFunction
  readonly rate: Duration
}

/** Starts the sweep at a fixed rate. */
export class SweepSchedule extends Construct {
  constructor(scope: Construct, id: string, props: SweepScheduleProps) {
    super(scope, id)
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('scheduler.amazonaws.com') })
    const { logicalId } = props.handler.node.defaultChild as CfnFunction
    acknowledge(role, {
      [`AwsSolutions-IAM5[Resource::<${Stack.of(this).resolve(logicalId)}.Arn>:*]`]:
        'The function with its versions, and nothing else.',
    })
    new Schedule(this, 'Schedule', {
      description: 'Removes what no checkpoint uses any more.',
      schedule: ScheduleExpression.rate(props.rate),
      // A sweep that was missed is made up for by the next one, so an old event is not worth delivering.
      target: new LambdaInvoke(props.handler, { role, retryAttempts: 3, maxEventAge: Duration.hours(1) }),
    })
  }
}
