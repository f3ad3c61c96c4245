import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { App, Validations } from 'aws-cdk-lib'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import { Key } from 'aws-cdk-lib/aws-kms'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import { expect, onTestFinished, test } from 'vitest'
import { SandkeepStack, type SandkeepStackProps } from '../../lib/index.ts'

interface Report {
  pluginReports: Array<{ violations?: Array<{ ruleName: string; violatingConstructs: unknown[] }> }>
}

/** The rules that a stack breaks, and for which it does not say why. */
function findings(props: (app: App) => SandkeepStackProps): string[] {
  const outdir = mkdtempSync(path.join(tmpdir(), 'sandkeep-nag-'))
  onTestFinished(() => rmSync(outdir, { recursive: true, force: true }))
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] }, analyticsReporting: false, outdir })
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app))
  new SandkeepStack(app, 'Sandkeep', props(app))
  try {
    app.synth()
  } catch (error) {
    // What is wrong stands in the report.
    if (!String(error).includes('Validation failed')) throw error
  }
  const report: Report = JSON.parse(readFileSync(path.join(outdir, 'validation-report.json'), 'utf8'))
  return report.pluginReports.flatMap(({ violations = [] }) => violations.map(({ ruleName }) => ruleName))
}

const ARN = 'arn:aws:kms:us-east-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef'

test('no rule of cdk-nag is broken without a reason', { timeout: 120_000 }, () => {
  expect(findings(() => ({}))).toStrictEqual([])
})

test('nor with every property', { timeout: 120_000 }, () => {
  const broken = findings((app) => {
    const scope = new SandkeepStack(app, 'Beside')
    return {
      tracing: true,
      corsOrigins: ['https://app.example'],
      encryptionKey: Key.fromKeyArn(scope, 'Key', ARN),
      domain: {
        name: 'sandkeep.example',
        certificate: Certificate.fromCertificateArn(
          scope,
          'Certificate',
          ARN.replace('kms', 'acm').replace('key/', 'certificate/'),
        ),
      },
      reservedConcurrency: { sweep: 2 },
      anthropicSecret: 'anthropic',
    }
  })
  expect(broken).toStrictEqual([])
})
