import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import type { CommandContext } from '../../cli/context.ts'
import { run } from '../../cli/program.ts'
import { type CostLine, FIXED, MEMORY } from '../../src/cost/estimate.ts'
import { PRICES_OF } from '../../src/cost/prices.ts'
import { resources, synth } from '../stack/synth.ts'

/** Runs `sandkeep cost` as on a machine that has no settings; asking anybody would fail. */
async function cost(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const texts = { stdout: '', stderr: '' }
  const into = (name: keyof typeof texts) =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += chunk
        done()
      },
    })
  const context = {
    ...{ env: { HOME: '/nonexistent' }, cwd: '/', stdout: into('stdout'), stderr: into('stderr') },
    signal: new AbortController().signal,
    connect: () => {
      throw new Error('It asks nobody.')
    },
  } as unknown as CommandContext
  const code = await run(['cost', ...args], context)
  return { code, ...texts }
}

async function linesOf(...args: string[]): Promise<Record<string, CostLine>> {
  const { code, stdout } = await cost(...args, '--json')
  expect(code).toBe(0)
  const { lines } = JSON.parse(stdout) as { lines: CostLine[] }
  return Object.fromEntries(lines.map((line) => [line.item, line]))
}

test('the total is the sum of the lines, for people as in JSON', async () => {
  const args = ['--threads', '10', '--appends-per-day', '20', '--restores-per-day', '0.5']
  const { stdout } = await cost(...args, '--json')
  const { lines, ...rest } = JSON.parse(stdout) as { lines: CostLine[]; usd_a_month: number }
  const total = lines.reduce((sum, { usd }) => sum + usd, 0)
  expect(rest).toStrictEqual({ region: 'us-east-1', prices_of: PRICES_OF, usd_a_month: total })
  const text = await cost(...args)
  expect(text).toMatchObject({ code: 0, stderr: '' })
  expect(text.stdout.trimEnd().split('\n').at(-1)).toMatch(new RegExp(`^total +\\$${total.toFixed(2)}$`))
  expect(text.stdout).not.toContain('KMS')
})

test('a stack that nobody uses costs its alarms, its dashboard and its metrics', async () => {
  const { stdout } = await cost('--json')
  const { lines, usd_a_month: total } = JSON.parse(stdout) as { lines: CostLine[]; usd_a_month: number }
  const watching = lines.filter(({ item }) => /alarms|dashboard|metrics/.test(item))
  expect(total - watching.reduce((sum, { usd }) => sum + usd, 0)).toBeLessThan(0.01)
})

test('numbers that count for nothing are told', async () => {
  expect(await cost('--runs-per-day', '5')).toMatchObject({ code: 0, stderr: expect.stringContaining('--threads') })
  for (const args of [['--projects', '2'], ['--key'], ['--runs-per-day', '5', '--threads', '1']]) {
    expect(await cost(...args)).toMatchObject({ code: 0, stderr: '' })
  }
})

test('what is asked for adds to its lines, and to no other', async () => {
  const usual = ['--threads', '10', '--appends-per-day', '20', '--restores-per-day', '1']
  const before = await linesOf(...usual)
  const added = async (option: string) => {
    const after = await linesOf(...usual, option)
    return Object.keys(after).filter((item) => after[item]?.usd !== before[item]?.usd)
  }
  expect(await added('--outside')).toStrictEqual(['transfer out'])
  expect(await added('--key')).toStrictEqual(['KMS key', 'KMS requests'])
  expect(await added('--tracing')).toStrictEqual(['X-Ray traces'])
  // A restore a day of 10 threads: 1,000 files of 10 kB.
  expect((await linesOf(...usual, '--outside'))['transfer out']).toMatchObject({ amount: 3, usd: 0.27 })
  const requests = (await linesOf(...usual, '--turns-per-day', '3'))['API Gateway requests']?.amount ?? 0
  expect(requests - (before['API Gateway requests']?.amount ?? 0)).toBe(900)
})

test('tasks without a workspace pay for their memory alone', async () => {
  const lines = await linesOf('--threads', '10', '--files', '0', '--turns-per-day', '5')
  expect(lines['API Gateway requests']?.amount).toBe(10 * 5 * 30)
  expect(lines['S3 storage']?.usd).toBe(0)
})

test('the most that can be given is estimated at once', async () => {
  const most = ['--threads', '1000000000000', '--files', '100000', '--file-bytes', '1000000000000']
  expect(await cost(...most, '--runs-per-day', '1000000000000')).toMatchObject({ code: 0 })
})

test.each([
  ['--threads', '-1'],
  ['--threads', '1.5'],
  ['--files', '100001'],
  ['--projects', '0'],
  ['--file-bytes', 'ten'],
  ['--appends-per-day', '1e3'],
  ['--kept-days', ''],
  ['--restores-per-day', '99999999999999'],
  ['--changed-files', '-0'],
])('%s %j is refused with the rule', async (option, value) => {
  const { code, stderr, stdout } = await cost(`${option}=${value}`)
  expect({ code, stdout }).toStrictEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(new RegExp(`^sandkeep: ${option} should be .+\\.\\n$`))
})

test('the stack has as many metrics, alarms and functions as are paid for', () => {
  const template = synth()
  const alarms = resources(template, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties)
  const metrics = alarms.flatMap(({ Metrics }) =>
    Metrics ? Metrics.filter((each: { MetricStat?: object }) => each.MetricStat) : ['its own'],
  )
  const functions = resources(template, 'AWS::Lambda::Function')
    .map(([, { Metadata, Properties }]) => ({ name: Metadata?.['sandkeep:function'], memory: Properties.MemorySize }))
    .filter(({ name }) => name)
  const telemetry = readFileSync(join(import.meta.dirname, '../../lambdas/sweep/telemetry.ts'), 'utf8')
  expect({
    alarmMetrics: metrics.length,
    dashboards: resources(template, 'AWS::CloudWatch::Dashboard').length,
    customMetrics: new Set(telemetry.match(/(?<=addMetric\(')\w+/g)).size,
    functions: functions.length,
  }).toStrictEqual(FIXED)
  const memory = Object.fromEntries(functions.map(({ name, memory }) => [name, memory]))
  expect(memory.authorizer).toBe(MEMORY.authorizer)
  expect(['checkpoints', 'memory', 'sandboxes'].map((name) => memory[name])).toStrictEqual(
    Array(3).fill(MEMORY.service),
  )
})
