import { RemovalPolicy } from 'aws-cdk-lib'
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb'
import type { Construct } from 'constructs'
import { TABLE } from '../src/table/schema.ts'

export interface SandkeepTableProps {
  /** RETAIN also protects the table from deletion. */
  readonly removalPolicy: RemovalPolicy
}

/** The one table of all services. */
export class SandkeepTable extends Table {
  constructor(scope: Construct, id: string, props: SandkeepTableProps) {
    super(scope, id, {
      partitionKey: { name: TABLE.partitionKey, type: AttributeType.STRING },
      sortKey: { name: TABLE.sortKey, type: AttributeType.STRING },
      timeToLiveAttribute: TABLE.ttl,
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: props.removalPolicy !== RemovalPolicy.DESTROY,
      removalPolicy: props.removalPolicy,
    })
  }
}
