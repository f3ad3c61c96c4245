import { RemovalPolicy } from 'aws-cdk-lib'
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import { TABLE } from '../src/table/schema.ts'

export interface SandkeepTableProps {
  /** RETAIN also protects the table from deletion. */
  readonly removalPolicy: RemovalPolicy
  /** @default AWS's own */
  readonly encryptionKey?: IKey | undefined
}

/** The one table of all services. */
export class SandkeepTable extends Table {
  constructor(scope: Construct, id: string, props: SandkeepTableProps) {
    super(scope, id, {
      partitionKey: { name: TABLE.partitionKey, type: AttributeType.STRING },
      sortKey: { name: TABLE.sortKey, type: AttributeType.STRING },
      timeToLiveAttribute: TABLE.ttl,
      ...(props.encryptionKey && {
        encryption: TableEncryption.CUSTOMER_MANAGED,
        encryptionKey: props.encryptionKey,
      }),
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: props.removalPolicy !== RemovalPolicy.DESTROY,
      removalPolicy: props.removalPolicy,
    })
  }
}
