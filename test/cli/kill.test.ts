import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FakeDeployment, startFakeDeployment } from './support/fake-deployment.ts'
import { makeTree, readTree, temporaryFolder } from './support/tree.ts'

const CHILD = join(import.meta.dirname, 'support/pull-child.ts')
let fake: FakeDeployment
let base: string

beforeEach(async () => {
  fake = await startFakeDeployment()
  base = temporaryFolder()
})

afterEach(async () => {
  await fake.stop()
  rmSync(base, { recursive: true, force: true })
})

test('a pull that is killed anywhere leaves each file old or new, and the next one finishes it', {
  timeout: 240_000,
}, async () => {
  const old = makeTree(join(base, 'old'), {
    same: 'same',
    changed: 'old',
    'was folder/x': 'old',
    'was file': 'old',
    'was link': { link: 'changed' },
    'mode.sh': { text: 'm', mode: 0o644 },
    '.gitignore': 'p.log',
    'p.log': 'put aside',
    extra: 'extra',
    'extra folder/y': 'extra',
    '.env': 'secret',
  })
  const wanted = makeTree(join(base, 'wanted'), {
    same: 'same',
    changed: 'new',
    copy: 'new',
    'was folder': 'new file',
    'was file/x': 'new',
    'was link/x': 'new',
    'mode.sh': { text: 'm', mode: 0o755 },
    'new link': { link: 'same' },
    empty: { dir: true },
    '.gitignore': '# other rules',
    'a/b/c': 'deep',
  })
  const manifest = join(base, 'manifest.json')
  writeFileSync(manifest, JSON.stringify(entriesOf(wanted)))
  const url = (await fake.client.blobs.prepareDownloads([key('new')]))[0]?.download?.url ?? ''
  const origin = new URL(url).origin
  const pull = (target: string, killAt: number) =>
    new Promise<{ signal: string | null; stdout: string }>((resolve, reject) => {
      execFile(process.execPath, [CHILD, target, manifest, origin, String(killAt)], (error, stdout, stderr) => {
        if (error && error.signal !== 'SIGKILL') reject(new Error(stderr))
        else resolve({ signal: error?.signal ?? null, stdout })
      })
    })

  const whole = { ...readTree(wanted), '.env': readTree(old)['.env'], 'p.log': readTree(old)['p.log'] }
  const unharmed = join(base, 'unharmed')
  cpSync(old, unharmed, { recursive: true, verbatimSymlinks: true })
  const steps = Number((await pull(unharmed, 0)).stdout)
  expect(readTree(unharmed)).toEqual(whole)
  expect(steps).toBeGreaterThan(30)

  // Every fifth step, beginning with the first, and the last ones.
  for (let killAt = 1; killAt <= steps; killAt += killAt > steps - 4 ? 1 : 5) {
    const target = join(base, `target-${killAt}`)
    cpSync(old, target, { recursive: true, verbatimSymlinks: true })
    expect(await pull(target, killAt)).toMatchObject({ signal: 'SIGKILL' })
    expect(['old', 'new']).toContain(readFileSync(join(target, 'changed'), 'utf8'))
    expect(readFileSync(join(target, '.env'), 'utf8')).toBe('secret')
    if (existsSync(join(target, 'was folder')) && lstatSync(join(target, 'was folder')).isFile()) {
      expect(readFileSync(join(target, 'was folder'), 'utf8')).toBe('new file')
    }
    expect(await pull(target, 0)).toMatchObject({ signal: null })
    expect(readTree(target)).toEqual(whole)
  }
})

const key = (text: string | Buffer) => `sandbox-files/sha256/${createHash('sha256').update(text).digest('hex')}`

/** The entries of a folder as they are; its contents go to the deployment. */
function entriesOf(root: string) {
  return Object.entries(readTree(root)).map(([path, line]) => {
    if (line === 'dir') return { path, kind: 'dir' }
    if (line.startsWith('link ')) return { path, kind: 'symlink', target: line.slice(5) }
    const bytes = readFileSync(join(root, path))
    fake.blobs.set(key(bytes), bytes)
    return {
      path,
      kind: 'file',
      blobKey: key(bytes),
      size: bytes.length,
      mode: lstatSync(join(root, path)).mode & 0o777,
    }
  })
}
