import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import { Sandkeep, type SandkeepProps } from './sandkeep.ts'

export interface SandkeepStackProps extends StackProps, SandkeepProps {}

/** A stack with Sandkeep alone in it. Its outputs say where the API, the table and the bucket are. */
export class SandkeepStack extends Stack {
  readonly sandkeep: Sandkeep

  constructor(scope: Construct, id: string, props: SandkeepStackProps = {}) {
    super(scope, id, props)
    this.sandkeep = new Sandkeep(this, 'Sandkeep', props)
    const { api, table, bucket } = this.sandkeep
    new CfnOutput(this, 'ApiUrl', { value: api.url, description: 'Where the API answers.' })
    new CfnOutput(this, 'TableName', { value: table.tableName })
    new CfnOutput(this, 'BucketName', { value: bucket.bucketName })
  }
}
