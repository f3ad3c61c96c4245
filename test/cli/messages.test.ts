import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from 'sandkeep/package.json' with { type: 'json' }
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { printable, printablePath } from '../../cli/format.ts'
import { runCommand } from './support/command.ts'
import { type PullWorld, startPullWorld } from './support/pull-world.ts'

let world: PullWorld

beforeEach(async () => {
  world = await startPullWorld()
})

afterEach(() => world.stop())

test('invisible characters, direction marks and tags are shown as what they are', () => {
  expect(printable('a\u061c\u00ad\u180e\u{e0041}\u{e007f}\ue000\u2028\ufeffz')).toBe(
    'a\\u{61c}\\u{ad}\\u{180e}\\u{e0041}\\u{e007f}\\u{e000}\\u{2028}\\u{feff}z',
  )
})

test('what should be a text may be any JSON value', () => {
  const values = [5, null, true, ['a\u001b'], { a: 1 }, undefined]
  expect(values.map(printable)).toEqual(['5', 'null', 'true', '["a\\u001b"]', '{"a":1}', 'undefined'])
})

test('--version prints the version alone', async () => {
  expect(await world.sandkeep('--version')).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
})

test('a long path is cut in its middle', () => {
  expect(printablePath('x'.repeat(200))).toBe('x'.repeat(200))
  const cut = printablePath(`begin${'😀'.repeat(5_000)}\u001bend`)
  expect([...cut]).toHaveLength(200)
  expect(cut).toMatch(/^begin😀+…😀+\\u\{1b\}end$/u)
})

test.each([[5], [null], [['x']], [{ a: '\u001b[2J' }]])('log and show print the label %j', async (label) => {
  world.fake.client.checkpoints.list = async () => structuredClone([...world.fake.checkpoints.values()])
  world.give([], { label, reason: label })
  for (const args of [
    ['log', '--thread', 'main'],
    ['show', 'c'],
  ]) {
    const { code, stdout } = await world.sandkeep(...args)
    expect(code).toBe(0)
    expect(stdout).toContain(JSON.stringify(label))
    expect(stdout).not.toContain('\u001b')
    expect(JSON.parse((await world.sandkeep(...args, '--json')).stdout)).toMatchObject(
      args[0] === 'log' ? { checkpoints: [{ label }] } : { label },
    )
  }
  world.give([], { reason: label })
  expect(await world.sandkeep('log', '--thread', 'main')).toMatchObject({ code: 0 })
})

test.each([
  ['ftp://me:hunter2@host/'],
  ['https//me:hunter2@host'],
  ['https://me:hunter2@host/'],
  ['http://hunter2@h/'],
])('the address %s is refused and not repeated', async (url) => {
  const { code, stderr } = await world.sandkeep('log', '--url', url)
  expect(code).toBe(2)
  expect(stderr).toContain('The URL of the API')
  expect(stderr).not.toContain('hunter2')
})

test.each([["--api-keyy=hunter2'x'"], ['--api-keyy=hunter2\nx'], ['-khunter2']])(
  'what is given to the unknown option %j is not repeated',
  async (argument) => {
    for (const args of [
      [argument, 'log'],
      ['log', argument],
      ['keys', 'list', argument],
    ]) {
      const { code, stderr } = await world.sandkeep(...args)
      expect(code).toBe(2)
      expect(stderr).toMatch(/unknown option '(--api-keyy|-k)'/)
      expect(stderr).not.toContain('hunter2')
    }
  },
)

test('a folder that is a loop of symlinks is told as that', async () => {
  mkdirSync(join(world.base, 'loops'))
  symlinkSync('b', join(world.base, 'loops/a'))
  symlinkSync('a', join(world.base, 'loops/b'))
  for (const command of ['push', 'pull']) {
    world.give([])
    const options = { client: world.fake.client, cwd: world.base, home: join(world.base, 'home') }
    const { code, stderr } = await runCommand([command, 'loops/a', '--thread', 'main'], options)
    expect(code).toBe(1)
    expect(stderr).toContain('loops/a: A symlink there leads back to itself')
    expect(stderr).not.toContain('ELOOP')
  }
})

test('what is no folder cannot be pulled into', async () => {
  world.give([])
  writeFileSync(join(world.base, 'd.csv'), 'a,b')
  for (const name of ['d.csv', 'd.csv/in']) {
    const { code, stderr } = await world.sandkeep('pull', name, '--thread', 'main')
    expect({ code, stderr }).toEqual({ code: 2, stderr: `sandkeep: ${join(world.base, name)} is not a folder.\n` })
  }
})

test('an empty id of a checkpoint is a wrong argument', async () => {
  for (const args of [
    ['pull', '--checkpoint', ''],
    ['show', ''],
  ]) {
    expect(await world.sandkeep(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining('is empty') })
  }
})

describe('a key that is written into the table', () => {
  beforeEach(() => {
    for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_PROFILE', 'AWS_ACCESS_KEY_ID'])
      vi.stubEnv(name, undefined)
    for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, join(world.base, 'none'))
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
    return () => vi.unstubAllEnvs()
  })

  test.each([
    [[], /Give --region, or set AWS_REGION/],
    [['--region', 'eu-west-1'], /AWS credentials.*AWS_PROFILE/],
  ])('takes what AWS needs beside %j', async (more, message) => {
    const { code, stderr } = await world.sandkeep(
      'keys',
      'create',
      '--name',
      'n',
      '--bind',
      '*/*',
      '--table',
      'T',
      ...more,
    )
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})

test('a long path in the way of a push is cut, and its problem is not', async () => {
  const folder = 'x'.repeat(200)
  mkdirSync(join(world.source, folder, folder), { recursive: true })
  symlinkSync(Buffer.from([0xff]), join(world.source, folder, folder, 'link'))
  const { code, stderr } = await world.push()
  expect(code).toBe(1)
  expect(stderr).toMatch(/^ {2}x{100}…x+\/link: its link target is not valid UTF-8$/m)
})
