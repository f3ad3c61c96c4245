import { Validations } from 'aws-cdk-lib'
import type { IConstruct } from 'constructs'

/** Says beside a resource why a rule of cdk-nag does not hold for it; for the resources in it too. */
export function acknowledge(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  for (const [rule, reason] of Object.entries(reasons)) {
    Validations.of(construct).acknowledge({ id: `${packOf(rule)}::${rule}`, reason })
  }
}

/** `AwsSolutions-S1` is of the pack `AwsSolutions`. */
function packOf(rule: string): string {
  return rule.slice(0, rule.indexOf('-'))
}
