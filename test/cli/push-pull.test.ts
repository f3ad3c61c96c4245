import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { InterruptedError } from '../../cli/errors.ts'
import { createTransport } from '../../cli/transfer/transport.ts'
import { stageFiles } from '../../cli/workspace/stage-files.ts'
import { runCommand } from './support/command.ts'
import { type FakeDeployment, startFakeDeployment } from './support/fake-deployment.ts'
import { makeTree, readTree, temporaryFolder } from './support/tree.ts'

let fake: FakeDeployment
let base: string
let source: string
let target: string

beforeEach(async () => {
  fake = await startFakeDeployment()
  base = temporaryFolder()
  source = join(base, 'source')
  target = join(base, 'target')
})

afterEach(async () => {
  await fake.stop()
  rmSync(base, { recursive: true, force: true })
})

const sandkeep = (args: string[], signal?: AbortSignal) =>
  runCommand(args, { client: fake.client, cwd: base, home: join(base, 'home'), ...(signal && { signal }) })
const push = (...more: string[]) => sandkeep(['push', source, '--thread', 'main', ...more])
const pull = (...more: string[]) => sandkeep(['pull', target, '--thread', 'main', ...more])
const head = () => fake.checkpoints.get(fake.heads.get('main') ?? '')
const blobKey = (text: string | Buffer) => `sandbox-files/sha256/${createHash('sha256').update(text).digest('hex')}`
const put = (text: string) => {
  fake.blobs.set(blobKey(text), Buffer.from(text))
  return { kind: 'file' as const, blobKey: blobKey(text), size: Buffer.byteLength(text) }
}
/** Makes a file old enough for its times to be trusted. */
const waitForClock = () => {
  const until = Date.now() + 30
  while (Date.now() < until);
}

describe('push then pull', () => {
  test('brings back every kind of entry byte for byte', async () => {
    makeTree(source, {
      'a.txt': 'text',
      'copy of a.txt': 'text',
      'bin/tool': { text: '#!/bin/sh\n', mode: 0o755 },
      secret: { text: 'x', mode: 0o600 },
      'read only': { text: 'x', mode: 0o444 },
      empty: '',
      'no/files/here': { dir: true },
      'big.bin': Buffer.alloc(30 * 1024 * 1024, 'sandkeep'),
      'links/inside': { link: '../a.txt' },
      'links/outside': { link: '/etc/passwd' },
      'links/nowhere': { link: 'no such thing' },
      'line\nbreak': 'n',
      'quote"and\'': 'q',
      'caf\u00e9': 'composed',
      'cafe\u0301': 'decomposed',
      '報告 😀.pdf': 'unicode',
      [`${'deep/'.repeat(300)}file`]: 'deep',
    })
    expect(await push()).toMatchObject({ code: 0 })
    expect(await pull()).toMatchObject({ code: 0 })
    expect(readTree(target)).toEqual(readTree(source))
    expect(head()?.files).toContainEqual({ path: 'no/files/here', kind: 'dir' })
    expect(head()?.files.filter(({ kind }) => kind === 'dir')).toHaveLength(1)
  })

  test('five cycles of edits come back, with deletions, exchanged kinds and modes', async () => {
    makeTree(source, { 'keep.txt': 'k', 'turns/file': 'f', turn: 'x', mode: 'm', link: { link: 'keep.txt' } })
    for (let cycle = 0; cycle < 5; cycle += 1) {
      makeTree(source, { [`new-${cycle}.txt`]: `${cycle}`, 'keep.txt': `k${cycle}` })
      chmodSync(join(source, 'mode'), cycle % 2 ? 0o755 : 0o640)
      for (const name of ['turn', 'turns', 'link', `new-${cycle - 2}.txt`]) {
        rmSync(join(source, name), { recursive: true, force: true })
      }
      const isOdd = cycle % 2 === 1
      makeTree(source, {
        [isOdd ? 'turn/inner' : 'turn']: 'x',
        [isOdd ? 'turns' : 'turns/file']: 'y',
        ...(isOdd ? { 'link/is/folder': 'z' } : { link: { link: `target-${cycle}` } }),
      })
      expect(await push()).toMatchObject({ code: 0, stderr: expect.not.stringContaining('sandkeep:') })
      expect(await pull('--delete')).toMatchObject({ code: 0 })
      expect(readTree(target)).toEqual(readTree(source))
    }
  })

  test('a second push reads and uploads only what changed, in five requests', async () => {
    makeTree(source, Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`f${index}`, `content ${index}`])))
    waitForClock()
    await push()
    for (let index = 0; index < 10; index += 1) writeFileSync(join(source, `f${index}`), `changed ${index}`)
    fake.requests.length = 0
    const { stdout } = await push('--json')
    expect(JSON.parse(stdout)).toMatchObject({ files: 300, files_read: 10, uploads: 10, changed: true })
    expect(fake.requests.filter((name) => name !== 'PUT').sort()).toEqual([
      'acquire',
      'append',
      'get',
      'release',
      'uploads',
    ])
    expect(fake.requests.filter((name) => name === 'PUT')).toHaveLength(10)
  })

  test('appends nothing when nothing changed, unless there is a label', async () => {
    makeTree(source, { a: '1' })
    await push()
    const first = head()?.id
    const again = await push()
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing changed') })
    expect(head()?.id).toBe(first)
    await push('--label', 'milestone')
    expect(head()).toMatchObject({ label: 'milestone', reason: 'named', parentCheckpointId: first })
  })

  test('carries the conversation and the artifacts of the thread on', async () => {
    makeTree(source, { a: '1' })
    await push()
    const artifact = { artifactId: 'x', name: 'x', mimeType: 't/t', size: 0, blobKey: 'k', createdAt: 1 }
    Object.assign(head() ?? {}, { conversation: [{ role: 'user' }], artifacts: [artifact] })
    makeTree(source, { a: '2' })
    await push()
    expect(head()).toMatchObject({ conversation: [{ role: 'user' }], artifacts: [artifact] })
  })
})

describe('push', () => {
  test('leaves out what the rules say and tells how much', async () => {
    makeTree(source, {
      '.git/config': 'x',
      'node_modules/p/index.js': 'x',
      'lib/node_modules/q/index.js': 'x',
      '.env': 'SECRET',
      'lib/.env.local': 'SECRET',
      '.gitignore': '*.log\nbuild/\n',
      'lib/.gitignore': '!keep.log\n/only-here\n',
      '.sandkeepignore': 'scratch\n',
      'a.log': 'x',
      'lib/keep.log': 'kept',
      'lib/only-here': 'x',
      'only-here': 'kept',
      'build/out': 'x',
      'scratch/x': 'x',
    })
    const { stdout } = await push()
    expect(head()?.files.map(({ path }) => path)).toEqual([
      '.gitignore',
      '.sandkeepignore',
      'lib/.gitignore',
      'lib/keep.log',
      'only-here',
    ])
    expect(stdout).toContain('skipped 9: 5 by fixed rules (.git, node_modules, .env*), 4 by ignore files')
  })

  test('names what it cannot keep and stores nothing, unless told to leave it out', async () => {
    makeTree(source, { fine: 'x' })
    execFileSync('mkfifo', [join(source, 'pipe')])
    writeFileSync(join(source, 'back\\slash'), 'x')
    writeFileSync(Buffer.concat([Buffer.from(`${source}/bad-`), Buffer.from([0xff])]), 'x')
    const refused = await push()
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('3 entries cannot be kept')
    expect(refused.stderr).toContain('pipe: it is a FIFO')
    expect(refused.stderr).toContain('back\\slash: the path holds a backslash')
    expect(refused.stderr).toContain('its name is not valid UTF-8')
    expect(fake.blobs.size).toBe(0)
    expect(head()).toBeUndefined()
    expect(await push('--skip-unsupported')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('left out: pipe'),
    })
    expect(head()?.files.map(({ path }) => path)).toEqual(['fine'])
  })

  test('stores a file that changes during the upload as it is then, never half', async () => {
    makeTree(source, { a: 'first', b: 'other' })
    fake.intercept = (request) => {
      if (request.url?.endsWith(blobKey('first'))) writeFileSync(join(source, 'a'), 'second')
      return false
    }
    // The change comes while the old bytes are on their way, so both may be stored; the checkpoint must name one that is.
    expect(await push()).toMatchObject({ code: 0 })
    const entry = head()?.files.find(({ path }) => path === 'a')
    expect(fake.blobs.has(entry?.kind === 'file' ? entry.blobKey : '')).toBe(true)
  })

  test('hashes again when the storage finds other bytes, and gives up on a file that never holds still', async () => {
    makeTree(source, { a: 'version 0' })
    let version = 0
    fake.intercept = (request, response) => {
      if (request.method !== 'PUT' || version >= 1) return false
      version += 1
      writeFileSync(join(source, 'a'), `version ${version}`)
      response.writeHead(400).end('<Error><Code>BadDigest</Code></Error>')
      return true
    }
    expect(await push()).toMatchObject({ code: 0 })
    expect(head()?.files).toMatchObject([{ blobKey: blobKey('version 1') }])

    fake.intercept = (request, response) => {
      if (request.method !== 'PUT') return false
      version += 1
      writeFileSync(join(source, 'a'), `version ${version}`)
      response.writeHead(400).end('<Error><Code>BadDigest</Code></Error>')
      return true
    }
    writeFileSync(join(source, 'a'), 'restless')
    const before = head()?.id
    expect(await push()).toMatchObject({ code: 1, stderr: expect.stringContaining('a keeps changing') })
    expect(head()?.id).toBe(before)
    expect(fake.leases.size).toBe(0)
  })

  test('leaves out a file that is gone before its upload', async () => {
    makeTree(source, { a: 'a', b: 'b' })
    const { prepareUploads } = fake.client.blobs
    fake.client.blobs.prepareUploads = (wanted) => {
      rmSync(join(source, 'b'), { force: true })
      return prepareUploads(wanted)
    }
    expect(await push()).toMatchObject({ code: 0 })
    expect(head()?.files.map(({ path }) => path)).toEqual(['a'])
  })

  test('starts over with a file that gets shorter on its way', async () => {
    makeTree(source, { big: Buffer.alloc(30 * 1024 * 1024, 'x') })
    fake.intercept = () => {
      if (statSync(join(source, 'big')).size > 5) truncateSync(join(source, 'big'), 5)
      return false
    }
    expect(await push()).toMatchObject({ code: 0, stderr: 'Hashing: 1 file\nUploading: 31.5 MB\nUploading: 5 B\n' })
    expect(head()?.files).toMatchObject([{ blobKey: blobKey('xxxxx'), size: 5 }])
  })

  test('fails when the storage will not take bytes that did not change', async () => {
    makeTree(source, { a: 'x' })
    fake.intercept = (_request, response) => {
      response.writeHead(400).end('<Error><Code>BadDigest</Code></Error>')
      return true
    }
    expect(await push()).toMatchObject({ code: 1, stderr: expect.stringContaining('400 BadDigest') })
    expect(fake.requests.filter((name) => name === 'PUT')).toHaveLength(1)
    expect(head()).toBeUndefined()
  })

  test('takes a blob that is there already for stored, and tries again after failures that pass', async () => {
    makeTree(source, { a: 'one', b: 'two' })
    let failures = 0
    fake.intercept = (request, response) => {
      if (request.method !== 'PUT') return false
      if (request.url?.endsWith(blobKey('one'))) {
        fake.blobs.set(blobKey('one'), Buffer.from('one'))
        return false
      }
      failures += 1
      if (failures > 1) return false
      response.writeHead(503).end()
      return true
    }
    expect(await push()).toMatchObject({ code: 0 })
    expect(failures).toBe(2)
    expect([...fake.blobs.keys()].sort()).toEqual([blobKey('one'), blobKey('two')].sort())
  })

  test('is not held up by answers that come before the body is sent', { timeout: 15_000 }, async () => {
    const files = Array.from({ length: 40 }, (_, index) => [`f${index}`, Buffer.alloc(4 * 1024 * 1024, `${index} `)])
    makeTree(source, Object.fromEntries(files))
    fake.intercept = (request, response) => {
      request.pause()
      response.writeHead(412).end()
      return true
    }
    expect(await push()).toMatchObject({ code: 0 })
    expect(head()?.files).toHaveLength(40)
  })

  test('asks for a new request when the one it has ran out', async () => {
    makeTree(source, { a: 'one' })
    let refused = false
    fake.intercept = (request, response) => {
      if (request.method !== 'PUT' || refused) return false
      refused = true
      response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')
      return true
    }
    expect(await push()).toMatchObject({ code: 0 })
    expect(fake.requests.filter((name) => name === 'uploads')).toHaveLength(2)
  })

  test('says that the thread is busy, and leaves the other lease alone', async () => {
    makeTree(source, { a: 'x' })
    fake.leases.set('main', { ownerToken: 'other', fence: 99 })
    expect(await push()).toMatchObject({ code: 4, stderr: expect.stringContaining('Try again') })
    expect(fake.leases.get('main')?.fence).toBe(99)
    expect(fake.requests).toEqual(['acquire'])
  })

  test('renews its lease while it runs, and stops when the lease is lost', async () => {
    makeTree(source, { a: 'x', b: 'y' })
    fake.renewAfterMs = 1
    fake.intercept = async () => {
      while (fake.renewals < 3) await new Promise((resolve) => setImmediate(resolve))
      return false
    }
    expect(await push()).toMatchObject({ code: 0 })
    writeFileSync(join(source, 'a'), 'changed')
    fake.intercept = () => {
      fake.leases.set('main', { ownerToken: 'thief', fence: 99 })
      return true
    }
    expect(await push()).toMatchObject({ code: 4, stderr: expect.stringContaining('lease of the thread was lost') })
    expect(fake.requests.filter((name) => name === 'append')).toHaveLength(1)
  })

  test('appends nothing when it is interrupted after the last upload', async () => {
    makeTree(source, { a: 'x' })
    const interrupt = new AbortController()
    const { prepareUploads } = fake.client.blobs
    fake.client.blobs.prepareUploads = async (wanted) => {
      fake.blobs.set(blobKey('x'), Buffer.from('x'))
      const missing = await prepareUploads(wanted)
      interrupt.abort(new InterruptedError())
      return missing
    }
    const outcome = await sandkeep(['push', source, '--thread', 'main'], interrupt.signal)
    expect(outcome.code).toBe(130)
    expect(fake.requests).not.toContain('append')
    expect(fake.leases.size).toBe(0)
  })

  test('releases the lease and keeps nothing when it is interrupted', async () => {
    makeTree(source, { a: 'x' })
    const interrupt = new AbortController()
    fake.intercept = () => {
      interrupt.abort(new InterruptedError())
      return true
    }
    const outcome = await sandkeep(['push', source, '--thread', 'main'], interrupt.signal)
    expect(outcome).toMatchObject({ code: 130, stdout: '' })
    expect(fake.leases.size).toBe(0)
    expect(head()).toBeUndefined()
    fake.intercept = () => false
    expect(await push()).toMatchObject({ code: 0 })
  })
})

describe('pull', () => {
  const give = (files: unknown[]) => {
    const checkpoint = {
      id: 'c',
      threadId: 'main',
      parentCheckpointId: null,
      createdAt: 0,
      reason: 'automatic' as const,
    }
    fake.checkpoints.set('c', { ...checkpoint, files: files as never[], conversation: [], artifacts: [] })
    fake.heads.set('main', 'c')
  }

  test.each([
    ['../x'],
    ['a/../../x'],
    ['/etc/x'],
    ['a//b'],
    ['./a'],
    ['a\\b'],
    ['C:x'],
    ['c:/x'],
    ['a\0b'],
    ['a\ud800b'],
    [''],
    ['.sandkeep-pull-1-00000000/x'],
  ])('refuses the path %j before it touches anything', async (path) => {
    give([
      { path: 'good', ...put('good') },
      { path, ...put('evil') },
    ])
    makeTree(target, { mine: 'x' })
    expect(await pull()).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be restored safely') })
    expect(readTree(base)).toMatchObject({ 'target/mine': expect.any(String) })
    expect(Object.keys(readTree(target))).toEqual(['mine'])
  })

  test('refuses entries that lead through a link or a file of the checkpoint, in any order', async () => {
    for (const files of [
      [
        { path: 'd', kind: 'symlink', target: '/tmp' },
        { path: 'd/x', ...put('evil') },
      ],
      [
        { path: 'd/x', ...put('evil') },
        { path: 'd', kind: 'symlink', target: base },
      ],
      [
        { path: 'd/e/x', kind: 'dir' },
        { path: 'd', ...put('file') },
      ],
      [
        { path: 'd', ...put('one') },
        { path: 'd', ...put('two') },
      ],
    ]) {
      give(files)
      expect((await pull()).code).toBe(1)
      expect(() => lstatSync(target)).toThrow('ENOENT')
    }
  })

  test('never writes through a link that is in the target', async () => {
    const outside = makeTree(join(base, 'outside'), { file: 'theirs', 'x/y': 'theirs' })
    const untouched = readTree(outside)
    makeTree(target, { dir: { link: outside }, file: { link: join(outside, 'file') }, deep: { dir: true } })
    symlinkSync(join(outside, 'x'), join(target, 'deep/x'))
    give([
      { path: 'dir/file', ...put('ours') },
      { path: 'file', ...put('ours') },
      { path: 'deep/x/y', ...put('ours') },
    ])
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    expect(readTree(outside)).toEqual(untouched)
    expect(readFileSync(join(target, 'deep/x/y'), 'utf8')).toBe('ours')
    expect(lstatSync(join(target, 'dir')).isDirectory()).toBe(true)
  })

  test('does not take what lies behind a link of the target for its own', async () => {
    const outside = makeTree(join(base, 'outside'), { file: 'ours', 'sub/file': 'ours', link: { link: 'file' } })
    makeTree(target, { dir: { link: outside } })
    give([
      { path: 'dir/file', ...put('ours') },
      { path: 'dir/sub/file', ...put('ours') },
      { path: 'dir/link', kind: 'symlink', target: 'file' },
    ])
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    expect(readTree(join(target, 'dir'))).toEqual(readTree(outside))
    expect(lstatSync(join(target, 'dir')).isDirectory()).toBe(true)
  })

  test('touches nothing when one blob is missing, wrong or too short', async () => {
    makeTree(target, { a: 'old' })
    const before = readTree(target)
    give([
      { path: 'a', ...put('new') },
      { path: 'b', ...put('gone') },
    ])
    fake.blobs.delete(blobKey('gone'))
    expect(await pull()).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was written') })
    expect(readTree(target)).toEqual(before)
    put('gone')
    for (const wrong of ['GONE', 'go', 'gone and more']) {
      const interrupt = new AbortController()
      let asked = 0
      fake.intercept = (request, response) => {
        if (!request.url?.endsWith(blobKey('gone'))) return false
        asked += 1
        if (asked === 2) interrupt.abort(new InterruptedError())
        response.end(wrong)
        return true
      }
      const { code } = await sandkeep(['pull', target, '--thread', 'main'], interrupt.signal)
      expect(code).toBe(130)
      expect(readTree(target)).toEqual(before)
    }
  })

  test('removes with --delete only what a push would have kept', async () => {
    give([{ path: 'a', ...put('a') }])
    const left = {
      '.git/config': 'x',
      'node_modules/p': 'x',
      'sub/node_modules/p': 'x',
      '.env': 'x',
      '.gitignore': 'data\n',
      data: 'x',
    }
    makeTree(target, { ...left, extra: 'x', 'sub/extra': 'x', 'gone/deep/extra': 'x', 'gone/empty': { dir: true } })
    expect(await pull()).toMatchObject({ code: 0 })
    expect(readFileSync(join(target, 'extra'), 'utf8')).toBe('x')
    const { stdout } = await pull('--delete', '--json')
    expect(JSON.parse(stdout).removed).toEqual([
      '.gitignore',
      'extra',
      'gone',
      'gone/deep',
      'gone/deep/extra',
      'gone/empty',
      'sub/extra',
    ])
    expect(Object.keys(readTree(target)).sort()).toEqual(
      [
        '.env',
        '.git',
        '.git/config',
        'a',
        'data',
        'node_modules',
        'node_modules/p',
        'sub',
        'sub/node_modules',
        'sub/node_modules/p',
      ].sort(),
    )
  })

  test('spares what the restored ignore file names, though nothing named it before', async () => {
    give([{ path: '.gitignore', ...put('data\n') }])
    makeTree(target, { data: 'x', other: 'x' })
    await pull('--delete')
    expect(Object.keys(readTree(target))).toEqual(['.gitignore', 'data'])
  })

  test('spares what the ignore file named before it was replaced', async () => {
    give([{ path: '.gitignore', ...put('# nothing') }])
    makeTree(target, { '.gitignore': 'data', data: 'x', other: 'x' })
    await pull('--delete')
    expect(Object.keys(readTree(target))).toEqual(['.gitignore', 'data'])
  })

  test('clears a folder for a file only when nothing is lost by it', async () => {
    give([
      { path: 'a', ...put('a') },
      { path: 'b', kind: 'symlink', target: 'a' },
    ])
    makeTree(target, { 'a/empty/folders': { dir: true }, 'b/full': 'x' })
    expect(await pull()).toMatchObject({ code: 1, stderr: expect.stringContaining('b holds b/full: use --delete') })
    expect(lstatSync(join(target, 'a')).isDirectory()).toBe(true)
    makeTree(target, { 'b/.env': 'secret' })
    expect(await pull('--delete')).toMatchObject({ code: 1, stderr: expect.stringContaining('b/.env') })
    expect(readFileSync(join(target, 'b/.env'), 'utf8')).toBe('secret')
    rmSync(join(target, 'b/.env'))
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    expect(readTree(target)).toMatchObject({ a: expect.stringContaining('file'), b: 'link a' })
  })

  test('refuses links that leave the target when asked to, also by way of other links', async () => {
    const link = (path: string, to: string) => ({ path, kind: 'symlink', target: to })
    for (const links of [
      [link('a', '/etc')],
      [link('a', '..')],
      [link('x/y/a', '../../../z')],
      [link('x/y/d', '../..'), link('e', 'x/y/d/../secret')],
    ]) {
      give(links)
      expect(await pull('--no-external-links')).toMatchObject({ code: 1, stderr: expect.stringContaining('lead out') })
      expect(() => lstatSync(target)).toThrow('ENOENT')
    }
    give([link('a', 'b'), link('b', './a'), link('x/y', '../z//w/.'), link('x/self', '..')])
    expect(await pull('--no-external-links')).toMatchObject({ code: 0 })
    give([link('a', '/etc')])
    expect(await pull()).toMatchObject({ code: 0 })
  })

  test('downloads only what the target does not have, once for each content', async () => {
    makeTree(target, { here: 'same', 'wrong mode': { text: 'mode', mode: 0o600 } })
    give([
      { path: 'here', ...put('same') },
      { path: 'copy', ...put('same') },
      { path: 'wrong mode', ...put('mode'), mode: 0o755 },
      { path: 'new 1', ...put('new'), mode: 0o640 },
      { path: 'new 2', ...put('new'), mode: 0o4755 },
    ])
    fake.requests.length = 0
    await pull()
    expect(fake.requests.filter((name) => name === 'GET')).toHaveLength(1)
    const modeOf = (name: string) => lstatSync(join(target, name)).mode & 0o7777
    expect([modeOf('wrong mode'), modeOf('new 1'), modeOf('new 2'), modeOf('copy')]).toEqual([
      0o755,
      0o640,
      0o755,
      0o666 & ~process.umask(),
    ])
  })

  test('downloads content whose copy in the target turns out to be another', async () => {
    makeTree(target, { stale: 'other' })
    const staging = makeTree(join(base, 'staging'), {})
    const entry = { path: 'a', ...put('right') }
    const transport = createTransport()
    const staged = await stageFiles({
      root: target,
      folder: staging,
      files: [entry],
      bundles: [],
      sources: new Map([[entry.blobKey, 'stale']]),
      blobs: fake.client.blobs,
      transport,
      signal: new AbortController().signal,
      onBlob: () => undefined,
    })
    transport.close()
    expect(staged.downloads).toBe(1)
    expect(readFileSync(staged.files.get('a') ?? '', 'utf8')).toBe('right')
  })

  test('sees content that changed under the same size and time', async () => {
    give([{ path: 'a', ...put('right') }])
    await pull()
    waitForClock()
    await pull()
    const { mtime, atime } = lstatSync(join(target, 'a'))
    writeFileSync(join(target, 'a'), 'wrong')
    utimesSync(join(target, 'a'), atime, mtime)
    await pull()
    expect(readFileSync(join(target, 'a'), 'utf8')).toBe('right')
  })

  test('cleans up what a killed pull left, and does not disturb one that runs', async () => {
    give([{ path: 'a', ...put('a') }])
    makeTree(target, { '.sandkeep-pull-999999999-0123abcd/0': 'left' })
    expect(await pull()).toMatchObject({ code: 0 })
    expect(Object.keys(readTree(target))).toEqual(['a'])
    mkdirSync(join(target, `.sandkeep-pull-${process.ppid}-0123abcd`))
    expect(await pull()).toMatchObject({ code: 1, stderr: expect.stringContaining('Another pull') })
  })

  test('leaves the target as it was when it is interrupted', async () => {
    give([
      { path: 'a', ...put('new') },
      { path: 'b', ...put('other') },
    ])
    makeTree(target, { a: 'old' })
    const before = readTree(target)
    const interrupt = new AbortController()
    fake.intercept = (request) => {
      if (request.url?.endsWith(blobKey('other'))) interrupt.abort(new InterruptedError())
      return request.url?.endsWith(blobKey('other')) ?? false
    }
    expect((await sandkeep(['pull', target, '--thread', 'main'], interrupt.signal)).code).toBe(130)
    expect(readTree(target)).toEqual(before)
    rmSync(target, { recursive: true })
    const again = new AbortController()
    fake.intercept = () => {
      again.abort(new InterruptedError())
      return true
    }
    expect((await sandkeep(['pull', target, '--thread', 'main'], again.signal)).code).toBe(130)
    expect(() => lstatSync(target)).toThrow('ENOENT')
    fake.intercept = () => false
    expect(await pull()).toMatchObject({ code: 0 })
  })

  test('says what to do when the target is no folder', async () => {
    give([{ path: 'a', ...put('a') }])
    writeFileSync(target, 'a file')
    expect(await pull()).toMatchObject({ code: 2, stderr: expect.stringContaining(`${target} is not a folder`) })
    expect(readFileSync(target, 'utf8')).toBe('a file')
  })

  test('ends when the target is where no folder can be made', async () => {
    give([{ path: 'a', ...put('a') }])
    const refused = await sandkeep(['pull', '/proc/sandkeep/inner', '--thread', 'main'])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('/proc/sandkeep') })
  })
})
