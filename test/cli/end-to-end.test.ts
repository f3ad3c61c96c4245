import { execFile } from 'node:child_process'
import { chmodSync, chownSync, cpSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient } from '../../client/index.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { NOBODY, type SpawnOptions, spawnCommand } from './support/spawn.ts'
import { makeTree, readTree, temporaryFolder } from './support/tree.ts'

const PACKAGES = join(import.meta.dirname, '../../node_modules')
// Each command is a process of its own, which takes a second or more on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

let stack: LocalStack
let base: string
let folder: string
let cases = 0

beforeAll(async () => {
  base = temporaryFolder()
  stack = await startLocalStack()
})

afterAll(async () => {
  await stack.stop()
  rmSync(base, { recursive: true, force: true })
})

beforeEach(() => {
  cases += 1
  folder = join(base, String(cases))
  mkdirSync(folder)
})

const settings = () => ({
  SANDBOX_GATEWAY_URL: stack.url,
  SANDBOX_API_KEY: stack.apiKey,
  SANDBOX_TENANT: 'acme',
  SANDBOX_PROJECT: 'site',
})

const sandkeep = (args: string[], { env = {}, ...options }: Partial<SpawnOptions> = {}) =>
  spawnCommand(args, { cwd: folder, ...options, env: { HOME: join(base, 'home'), ...settings(), ...env } })

async function json(...args: string[]) {
  const { code, stdout, stderr } = await sandkeep([...args, '--json'])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return JSON.parse(stdout)
}

describe('a real tree of two thousand files', () => {
  test('comes back byte for byte, with modes and links', { timeout: 300_000 }, async () => {
    const tree = join(folder, 'tree')
    for (const name of ['zod', '@smithy/core']) cpSync(join(PACKAGES, name), join(tree, name), { recursive: true })
    makeTree(tree, {
      'run.sh': { text: '#!/bin/sh\n', mode: 0o755 },
      private: { text: 'p', mode: 0o600 },
      'empty/folder': { dir: true },
      'link to file': { link: 'zod/package.json' },
      'link to nothing': { link: '../../gone' },
      'line\nbreak "quoted" 報告': 'x',
      'twenty eight.bin': Buffer.alloc(28 * 1024 * 1024, 7),
    })
    const pushed = await json('push', 'tree')
    expect(pushed.files).toBeGreaterThan(2_000)
    expect(pushed.thread_id).toBe('tree')

    expect(await sandkeep(['push', 'tree'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^nothing changed/),
    })

    await json('pull', 'copy', '--thread', 'tree')
    expect(readTree(join(folder, 'copy'))).toEqual(readTree(tree))
    expect(await json('pull', 'copy', '--thread', 'tree')).toMatchObject({ downloads: 0, files_written: 0 })

    for (let index = 0; index < 5; index += 1) {
      writeFileSync(join(tree, 'run.sh'), `#!/bin/sh\necho ${index}\n`)
      makeTree(tree, { [`cycle ${index}`]: `${index}` })
      rmSync(join(tree, `cycle ${index - 1}`), { force: true })
      chmodSync(join(tree, 'private'), index % 2 ? 0o640 : 0o400)
      expect(await json('push', 'tree')).toMatchObject({ uploads: 2, files_read: 3 })
      await json('pull', 'copy', '--thread', 'tree', '--delete')
      expect(readTree(join(folder, 'copy'))).toEqual(readTree(tree))
    }
    const { checkpoints } = await json('log', '--thread', 'tree')
    expect(checkpoints).toHaveLength(6)
    await json('pull', 'first', '--checkpoint', pushed.checkpoint_id)
    expect(readFileSync(join(folder, 'first/run.sh'), 'utf8')).toBe('#!/bin/sh\n')
  })
})

describe('the history of a thread', () => {
  test('log, show, diff, prune and fork', async () => {
    makeTree(join(folder, 'w'), { a: '1', b: '2', c: '3', mode: 'm' })
    const first = await json('push', 'w', '--label', 'one\u001b[31m')
    makeTree(join(folder, 'w'), { a: 'changed', 'b/now a folder': 'x', d: 'new' }, ['b', 'c'])
    chmodSync(join(folder, 'w/mode'), 0o755)
    const second = await json('push', 'w')

    const log = await sandkeep(['log', '--thread', 'w'])
    const lines = log.stdout.trimEnd().split('\n')
    expect(lines[0]).toContain(second.checkpoint_id)
    expect(lines[1]).toMatch(/ {2}\d{4}-\d\d-\d\dT.*Z {2}4 files {2}4 B +one\\u\{1b\}\[31m$/)

    const show = await sandkeep(['show', second.checkpoint_id])
    expect(show.stdout).toContain(`parent      ${first.checkpoint_id}`)
    expect(show.stdout).toMatch(/^755 {2}1 B {2}mode$/m)

    const diff = await sandkeep(['diff', first.checkpoint_id, second.checkpoint_id])
    expect(diff.stdout.trimEnd().split('\n')).toEqual([
      'A b/now a folder',
      'A d',
      'D b',
      'D c',
      'M a (content)',
      'M mode (mode 644 to 755)',
    ])

    const fork = await json('fork', '--thread', 'w', '--checkpoint', first.checkpoint_id, '--to', 'w-fork')
    expect(await json('prune', '--thread', 'w', '--keep', '1')).toMatchObject({ deleted: [first.checkpoint_id] })
    expect((await sandkeep(['show', first.checkpoint_id])).code).toBe(3)
    await json('pull', 'forked', '--checkpoint', fork.checkpoint_id)
    expect(readFileSync(join(folder, 'forked/b'), 'utf8')).toBe('2')
    const again = await sandkeep(['fork', '--thread', 'w', '--checkpoint', second.checkpoint_id, '--to', 'w-fork'])
    expect(again.code).toBe(4)
  })

  test('a sweep frees what a prune left, and usage shows it', async () => {
    const swept = { env: { SANDBOX_PROJECT: 'swept' } }
    const inProject = async (...args: string[]) => JSON.parse((await sandkeep([...args, '--json'], swept)).stdout)
    for (const text of ['first', 'second']) {
      makeTree(join(folder, 'work'), { 'changed.txt': text, 'kept.txt': 'kept' })
      await inProject('push', 'work')
    }
    await inProject('prune', '--keep', '1', '--thread', 'work')
    expect(await inProject('usage')).toMatchObject({ checkpoints: 1, referenced_blobs: 2, unreferenced_blobs: 1 })
    expect(await inProject('sweep', '--older-than', '0s', '--dry-run')).toMatchObject({ condemned: 1, deleted: 0 })
    expect(await inProject('sweep', '--older-than', '0s')).toMatchObject({ state: 'done', deleted: 1, bytes_freed: 5 })
    expect(await inProject('usage')).toMatchObject({ referenced_blobs: 2, unreferenced_blobs: 0 })
    const plain = await sandkeep(['sweep'], swept)
    expect(plain).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/: done after [\d.]+ s\n(.*\n)*deleted {5}0, 0 B\n/),
    })
    expect(plain.stderr).toMatch(/^sweep .* started\nsweeping: \d objects\n$/)
  })

  test('the first key of a deployment is made in its table, others over the API', async () => {
    const aws = {
      AWS_ENDPOINT_URL_DYNAMODB: stack.dynamodbEndpoint,
      AWS_ACCESS_KEY_ID: stack.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: stack.credentials.secretAccessKey,
    }
    const direct = [
      'keys',
      'create',
      '--name',
      'admin',
      '--role',
      'platform',
      '--table',
      stack.tableName,
      '--region',
      stack.region,
    ]
    expect((await sandkeep(direct, { env: aws })).code).toBe(2)
    const admin = (await sandkeep([...direct, '--bind', '*/*'], { env: aws })).stdout.trim()
    const asAdmin = { SANDBOX_API_KEY: admin }
    const created = await sandkeep(['keys', 'create', '--name', 'ci', '--json'], { env: asAdmin })
    const { key, id, role, bindings, rights } = JSON.parse(created.stdout)
    const expected = { role: 'writer', bindings: [{ tenant: 'acme', project: 'site' }], rights: [] }
    expect({ role, bindings, rights }).toEqual(expected)
    const flags = ['--right', 'act_as_sandbox', '--right', 'act_for_users']
    const worker = await sandkeep(['keys', 'create', '--name', 'worker', '--json', ...flags], { env: asAdmin })
    expect(JSON.parse(worker.stdout).rights).toEqual(['act_for_users', 'act_as_sandbox'])
    const unknown = await sandkeep(['keys', 'create', '--name', 'worker', '--right', 'root'], { env: asAdmin })
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('act_for_users, act_as_sandbox') })
    makeTree(join(folder, 'keyed'), { a: 'x' })
    const asCi = { SANDBOX_API_KEY: key }
    expect((await sandkeep(['push', 'keyed'], { env: asCi })).code).toBe(0)
    expect(await sandkeep(['push', 'keyed', '--tenant', 'other'], { env: asCi })).toMatchObject({ code: 5 })
    expect((await sandkeep(['keys', 'list'], { env: asCi })).code).toBe(5)
    expect((await sandkeep(['keys', 'list'], { env: asAdmin })).stdout).toMatch(
      new RegExp(`^${id} .* active +ci$`, 'm'),
    )
    expect((await sandkeep(['keys', 'revoke', id], { env: asAdmin })).code).toBe(0)
    expect(await sandkeep(['push', 'keyed'], { env: asCi })).toMatchObject({ code: 5 })
    expect((await sandkeep(['keys', 'revoke', 'unknown'], { env: asAdmin })).code).toBe(3)
  })
})

describe('what goes wrong has one clear line and an exit code', () => {
  const oneLine = /^sandkeep: [^\n]+\n$/

  test.each<[string, string[], Record<string, string>, number, RegExp]>([
    ['no server', ['log'], { SANDBOX_GATEWAY_URL: 'http://127.0.0.1:47111' }, 6, /ECONNREFUSED/],
    ['a wrong key', ['log'], { SANDBOX_API_KEY: 'skp_wrong' }, 5, /--api-key/],
    [
      'missing settings',
      ['log'],
      { SANDBOX_API_KEY: '', SANDBOX_TENANT: '' },
      2,
      /--api-key, --tenant.*SANDBOX_TENANT.*config\.json/,
    ],
    ['a malformed URL', ['log', '--url', 'localhost'], {}, 2, /https:/],
    ['a malformed tenant', ['log', '--tenant', '../x'], {}, 2, /tenant/i],
    ['an unknown checkpoint', ['pull', '--checkpoint', 'nope'], {}, 3, /"nope"/],
    ['an unknown thread', ['pull', '--thread', 'nope'], {}, 3, /"nope"/],
    ['no such folder', ['push', 'missing'], {}, 2, /not a folder/],
    ['a bad number', ['prune', '--keep', '0'], {}, 2, /--keep/],
    ['a bad binding', ['keys', 'create', '--name', 'x', '--bind', 'x'], {}, 2, /TENANT\/PROJECT/],
  ])('%s', async (_name, args, env, code, message) => {
    const outcome = await sandkeep(args, { env })
    expect(outcome).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(oneLine) })
    expect(outcome.stderr).toMatch(message)
  })

  test('arguments that are no arguments', async () => {
    expect(await sandkeep(['push', '--jsno'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--json') })
    expect((await sandkeep([])).code).toBe(2)
    expect(await sandkeep(['push', '--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Examples:') })
  })

  test('a configuration file that is not JSON, and one that is used', async () => {
    const config = join(folder, 'config/sandkeep/config.json')
    makeTree(folder, { 'config/sandkeep/config.json': '{' })
    const none = Object.fromEntries(Object.keys(settings()).map((name) => [name, '']))
    const env = { ...none, XDG_CONFIG_HOME: join(folder, 'config') }
    expect(await sandkeep(['log'], { env })).toMatchObject({ code: 2, stderr: expect.stringContaining(config) })
    const { SANDBOX_GATEWAY_URL: url, SANDBOX_API_KEY: api_key } = settings()
    writeFileSync(config, JSON.stringify({ url, api_key, tenant: 'acme', project: 'nowhere' }))
    expect(await sandkeep(['log', '--thread', 't'], { env })).toMatchObject({ code: 3 })
  })

  test('a busy thread', async () => {
    makeTree(join(folder, 'busy'), { a: 'x' })
    const { checkpoints } = createClient({ url: stack.url, apiKey: stack.apiKey, tenant: 'acme', project: 'site' })
    const lease = await checkpoints.acquireWriter('busy')
    expect(await sandkeep(['push', 'busy'])).toMatchObject({ code: 4, stderr: expect.stringMatching(oneLine) })
    await lease.release()
    expect((await sandkeep(['push', 'busy'])).code).toBe(0)
  })

  test('an interrupted push lets go of the thread and can be run again', async () => {
    const files = Array.from({ length: 400 }, (_, index) => [`f${index}`, `interrupted ${index}`])
    makeTree(join(folder, 'stopped'), Object.fromEntries(files))
    const stopped = await sandkeep(['push', 'stopped'], {
      onStderr: (text, child) => /Uploading: .*\n$/.test(text) && child.kill('SIGINT'),
    })
    expect(stopped).toMatchObject({ code: 130, stdout: '', stderr: expect.stringContaining('Interrupted') })
    expect(await json('push', 'stopped')).toMatchObject({ files: 400, changed: true })
  })

  test('what may not be read or written', async () => {
    const own = join(folder, 'own')
    makeTree(own, { 'w/open': 'x', 'w/closed': { text: 'secret', mode: 0o000 }, 'w/shut/x': 'x', 'locked/mine': 'x' })
    for (const path of ['', 'w', 'w/open', 'w/shut', 'locked']) {
      if (process.getuid?.() === 0) chownSync(join(own, path), NOBODY, NOBODY)
    }
    for (const path of ['w/shut', 'locked']) chmodSync(join(own, path), path === 'locked' ? 0o555 : 0o000)
    chmodSync(base, 0o755)
    chmodSync(folder, 0o755)
    const asNobody = { cwd: own, unprivileged: true, env: { HOME: own } }
    const refused = await sandkeep(['push', 'w', '--thread', 'rights'], asNobody)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('closed: it cannot be read (permission denied)')
    expect(refused.stderr).toContain('shut: it cannot be read (permission denied)')
    expect((await sandkeep(['push', 'w', '--thread', 'rights', '--skip-unsupported'], asNobody)).code).toBe(0)
    const locked = await sandkeep(['pull', 'locked', '--thread', 'rights'], asNobody)
    expect(locked).toMatchObject({ code: 1, stderr: expect.stringContaining('Permission denied') })
    expect(Object.keys(readTree(join(own, 'locked')))).toEqual(['mine'])
    chmodSync(join(own, 'w/shut'), 0o755)
  })

  test('a reader that stops early is no failure', async () => {
    makeTree(
      join(folder, 'piped'),
      Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`${'long '.repeat(40)}${i}`, ''])),
    )
    const { checkpoint_id } = await json('push', 'piped')
    const main = join(import.meta.dirname, '../../cli/main.ts')
    const script = `"${process.execPath}" "${main}" show ${checkpoint_id} | head -1; exit "\${PIPESTATUS[0]}"`
    const env = { PATH: process.env.PATH, HOME: base, ...settings() }
    const stderr = await new Promise((resolve, reject) => {
      execFile('bash', ['-c', script], { env }, (error, _stdout, text) => (error ? reject(error) : resolve(text)))
    })
    expect(stderr).toBe('')
  })
})

test('two pulls of one checkpoint at once, and one into a folder that is a link', async () => {
  makeTree(join(folder, 'twice'), { a: 'x', 'b/c': 'y' })
  await json('push', 'twice')
  makeTree(folder, { real: { dir: true }, linked: { link: 'real' } })
  await Promise.all(['one', 'two', 'linked'].map((target) => json('pull', target, '--thread', 'twice')))
  for (const target of ['one', 'two', 'real'])
    expect(readTree(join(folder, target))).toEqual(readTree(join(folder, 'twice')))
  expect(lstatSync(join(folder, 'linked')).isSymbolicLink()).toBe(true)
})
