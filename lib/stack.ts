import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct } from 'constructs'
import { Sandkeep, type SandkeepProps } from './sandkeep.ts'

export interface SandkeepStackProps extends StackProps, SandkeepProps {
  /**
   * The name of a secret of Secrets Manager that holds the API key of Anthropic as its text: short for `anthropic`.
   * @default none
   */
  readonly anthropicSecret?: string
}

/** A stack with Sandkeep alone in it. Its outputs say where the API, the table and the bucket are. */
export class SandkeepStack extends Stack {
  readonly sandkeep: Sandkeep

  constructor(scope: Construct, id: string, props: SandkeepStackProps = {}) {
    super(scope, id, props)
    const { anthropicSecret } = props
    this.sandkeep = new Sandkeep(this, 'Sandkeep', {
      ...(anthropicSecret !== undefined && {
        anthropic: { secret: Secret.fromSecretNameV2(this, 'AnthropicSecret', anthropicSecret) },
      }),
      ...props,
    })
    const { api, table, bucket } = this.sandkeep
    new CfnOutput(this, 'ApiUrl', { value: api.url, description: 'Where the API answers.' })
    new CfnOutput(this, 'TableName', { value: table.tableName })
    new CfnOutput(this, 'BucketName', { value: bucket.bucketName })
  }
}
