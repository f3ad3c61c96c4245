import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import type { SnapshotName } from '../../src/sandboxes/types.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { type CountingProxy, startProxy } from './support/counting-proxy.ts'
import { spawnCommand } from './support/spawn.ts'
import { readTree, temporaryFolder } from './support/tree.ts'

const MAIN = join(import.meta.dirname, '../../cli/main.ts')
/** Makes versions, each a file more, until it is told to stop. */
const VERSIONS = `echo $$ > "$BASE/pid"
n=$(cat version 2> /dev/null || echo 0)
while ! [ -e "$BASE/stop" ]; do
  n=$((n+1)); echo $n > "v$n"; echo $n > version.new; mv version.new version; sleep 0.05
done`
const KILLS = 6
/** At this request the command is told to stop; the later ones save its work. */
const LAST_REQUEST_OF_COMMAND = 7
const LAST_REQUEST = 15

let stack: LocalStack
let proxy: CountingProxy
let client: SandkeepClient
let base: string
beforeAll(async () => {
  base = temporaryFolder()
  stack = await startLocalStack()
  proxy = await startProxy(stack.url)
  client = createClient({ url: stack.url, apiKey: stack.apiKey, tenant: 'acme', project: 'killed' })
})
afterAll(async () => {
  await proxy.stop()
  await stack.stop()
  rmSync(base, { recursive: true, force: true })
})

const environment = (url: string, tmp: string) => ({
  HOME: join(base, 'home'),
  TMPDIR: tmp,
  BASE: tmp,
  SANDBOX_GATEWAY_URL: url,
  SANDBOX_API_KEY: stack.apiKey,
  SANDBOX_TENANT: 'acme',
  SANDBOX_PROJECT: 'killed',
})

/** Resolves with the signal that ended the run, or null, and with how many of its saves were answered. */
function runUntil(
  tmp: string,
  killAt: number,
  when: 'before' | 'after',
): Promise<{ signal: string | null; saves: number }> {
  const child: ChildProcess = spawn(
    process.execPath,
    [MAIN, 'run', '--task', 't', '--autosave', '1s', '--', 'sh', '-c', VERSIONS],
    { env: { PATH: process.env.PATH, ...environment(proxy.url, tmp) }, stdio: 'ignore' },
  )
  let saves = 0
  proxy.requests = []
  proxy.onRequest = (number, now) => {
    if (number >= killAt && now === when) child.kill('SIGKILL')
    else if (now === 'after' && /^POST .*\/snapshots$/.test(proxy.requests[number - 1] ?? '')) saves += 1
    if (number === LAST_REQUEST_OF_COMMAND) writeFileSync(join(tmp, 'stop'), '')
  }
  return new Promise((resolve) => child.on('close', (_code, signal) => resolve({ signal, saves })))
}

async function endCommand(tmp: string): Promise<void> {
  const file = join(tmp, 'pid')
  if (!existsSync(file)) return
  const pid = Number(readFileSync(file, 'utf8'))
  const isThere = () => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  if (isThere()) process.kill(-pid, 'SIGKILL')
  await expect.poll(isThere, { timeout: 30_000 }).toBe(false)
}

/** What the next run of the task begins with, read without a run. */
async function latest(): Promise<{ restore: SnapshotName | null; kept: string[] }> {
  const { sandbox } = await client.sandboxes.create({ profile: 'look', taskId: 't', restoreLatest: true })
  await client.sandboxes.destroy(sandbox.sandboxId)
  const { restore } = sandbox
  const manifest = restore && (await client.sandboxes.getSnapshot(restore))
  return { restore, kept: manifest?.files.map(({ path }) => path) ?? [] }
}

/** Numbers from 0 to below 1, always the same ones. */
function* randomNumbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    yield state / 2 ** 32
  }
}

test('a run that is killed anywhere loses at most what changed since its last save, and even that can be saved', {
  timeout: 300_000,
}, async () => {
  const random = randomNumbers(20_261_130)
  let killed = 0
  let saved: string[] = []
  for (let round = 0; round < KILLS; round += 1) {
    const tmp = join(base, `round-${round}`)
    mkdirSync(tmp)
    const killAt = 2 + Math.floor(random.next().value * (LAST_REQUEST - 1))
    const when = random.next().value < 0.5 ? 'before' : 'after'
    const where = `round ${round}: killed ${when} request ${killAt}`
    const { signal, saves } = await runUntil(tmp, killAt, when)
    if (signal === 'SIGKILL') killed += 1
    await endCommand(tmp)

    // Whatever a save was answered for is there, and is what comes next.
    const own = async () => {
      const { sandboxes } = await client.sandboxes.list({ taskId: 't' })
      return sandboxes.find(({ profile }) => profile === 'default')
    }
    expect((await own())?.latestSnapshotSeq ?? 0, where).toBeGreaterThanOrEqual(saves)
    // A save that was on its way then may land a moment later.
    const isLatest = async () => {
      const { sandboxId, latestSnapshotSeq: snapshotSeq = null } = (await own()) ?? {}
      return snapshotSeq === null || isDeepStrictEqual((await latest()).restore, { sandboxId, snapshotSeq })
    }
    await expect.poll(isLatest, { timeout: 30_000, message: where }).toBe(true)
    const { kept } = await latest()
    expect(kept, where).toEqual(expect.arrayContaining(saved))
    saved = kept
    const [folder] = readdirSync(tmp).filter((name) => name.startsWith('sandkeep-run-'))
    if (folder === undefined || !existsSync(join(tmp, folder, 'run.json'))) continue

    const onDisk = Object.keys(readTree(join(tmp, folder, 'workspace'))).filter((path) => !path.startsWith('.sandkeep'))
    // A run that is killed while it restores has a part of what is saved, and nothing of its own.
    if (!JSON.parse(readFileSync(join(tmp, folder, 'run.json'), 'utf8')).ready) {
      const refused = await spawnCommand(['save', join(tmp, folder)], { cwd: tmp, env: environment(stack.url, tmp) })
      expect(refused, where).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing to save') })
      expect((await latest()).kept, where).toEqual(kept)
      continue
    }
    if (!existsSync(join(tmp, 'pid'))) continue
    expect(onDisk, where).toEqual(expect.arrayContaining(kept.filter((path) => path !== 'version.new')))
    const outcome = await spawnCommand(['save', join(tmp, folder)], { cwd: tmp, env: environment(stack.url, tmp) })
    expect(outcome, where).toMatchObject({ code: 0 })
    saved = (await latest()).kept
    expect(saved.toSorted(), where).toEqual(onDisk.toSorted())
  }
  expect(killed).toBeGreaterThanOrEqual(KILLS / 2)
  const turns = await Array.fromAsync(client.memory.listTurns('t'))
  expect(turns.map(({ turn }) => turn)).toEqual(turns.map((_turn, index) => index + 1))
  // Each run wrote one turn at most.
  expect(new Set(turns.map(({ meta }) => meta.sandbox_id)).size).toBe(turns.length)
  const last = join(base, 'last')
  mkdirSync(last)
  const dir = ['run', '--task', 't', '--dir', join(last, 'w'), '--', 'cat', 'version']
  const outcome = await spawnCommand(dir, { cwd: last, env: environment(stack.url, last) })
  expect(outcome.code).toBe(0)
  expect(saved).toContain(`v${outcome.stdout.trim()}`)
})
