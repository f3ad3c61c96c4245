import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { changeFiles, writeWorkspace } from '../../bench/sample-workspace.ts'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { itemSize } from '../../local/dynamodb/size.ts'
import type { WireItem } from '../../local/dynamodb/types.ts'
import { lookUp } from '../../src/blobs/look-up.ts'
import { OBJECT_PREFIXES } from '../../src/blobs/object-keys.ts'
import {
  BODY_BYTES_OF_FILE,
  firstPush,
  laterPush,
  lookUps,
  projectMd,
  pull,
  run,
  sweep,
  TABLE_BYTES,
  TURN,
  type Use,
} from '../../src/cost/operations.ts'
import { startLocalStack } from '../support/local-stack.ts'
import { type MeteredStack, type StackUse, startMetered } from '../support/stack-meter.ts'
import { runCommand } from './support/command.ts'
import { temporaryFolder } from './support/tree.ts'

const FILE_BYTES = 2_000
const CHANGED = 10

let metered: MeteredStack
let base: string

beforeAll(async () => {
  base = temporaryFolder()
  metered = await startMetered(startLocalStack)
})

afterAll(async () => {
  await metered.stop()
  rmSync(base, { recursive: true, force: true })
})

/** What the bill counts of it. */
function billed({ api, readUnits, writeUnits, s3Writes, s3Reads }: StackUse): Partial<Use> {
  return { apiRequests: api, readUnits, writeUnits, s3Writes, s3Reads }
}

function asked({ backgroundGbSeconds: _, ...use }: Use): Partial<Use> {
  return use
}

/** The command line in a project that nothing has used. */
function project(name: string) {
  const client: SandkeepClient = createClient({ ...metered.stack, tenant: 'acme', project: name })
  /** `home`: of the machine. @returns what it used */
  const command = async (args: string[], home = 'home'): Promise<Partial<Use>> => {
    metered.take()
    const outcome = await runCommand(args, {
      ...{ client, cwd: base, home: join(base, name, home) },
      env: {
        PATH: process.env.PATH ?? '',
        SANDBOX_GATEWAY_URL: metered.stack.url,
        SANDBOX_API_KEY: metered.stack.apiKey,
      },
    })
    expect(outcome).toMatchObject({ code: 0 })
    return billed(metered.soFar())
  }
  return { client, command }
}

describe.each([100, 300, 1_100])('a workspace of %i files', (files) => {
  const shape = { files, bytes: FILE_BYTES }
  const workspace = { files, fileBytes: FILE_BYTES, projectBlobs: files }

  test('pushes and pulls use what the estimate says', async () => {
    const { command } = project(`push-${files}`)
    const root = join(base, `push-${files}`, 'root')
    await writeWorkspace(root, shape)
    expect(await command(['push', root, '--thread', 't'])).toStrictEqual(asked(firstPush(workspace)))
    await changeFiles(root, { ...shape, changes: CHANGED, generation: 'second' })
    expect(await command(['push', root, '--thread', 't'])).toStrictEqual(asked(laterPush(workspace, CHANGED)))
    const now = { ...workspace, projectBlobs: files + CHANGED }
    expect(await command(['pull', join(base, `push-${files}`, 'copy'), '--thread', 't'])).toStrictEqual(
      asked(pull(now)),
    )
  })
})

describe('a task with 300 files', () => {
  const workspace = { files: 300, fileBytes: FILE_BYTES, projectBlobs: 300 }

  test('a run uses what the estimate says', async () => {
    const { command } = project('run')
    const root = join(base, 'run', 'root')
    await writeWorkspace(root, { files: 300, bytes: FILE_BYTES })
    const inFolder = (name: string, script: string) =>
      command(['run', '--task', 'task', '--dir', join(base, 'run', name), '--', 'sh', '-c', script], name)
    const change = `for i in $(seq ${CHANGED}); do date > "$(find . -name "file-$i.bin")"; echo $i >> "$(find . -name "file-$i.bin")"; done`
    await inFolder('first', `cp -r ${root}/. .`)
    await vi.waitFor(() => expect(metered.soFar()).toMatchObject({ writeUnits: 40 }), { timeout: 20_000 })
    await inFolder('second', change)
    const { readUnits, s3Reads, ...exact } = asked(run(workspace, CHANGED))
    // The bundles are looked after in the background.
    await vi.waitFor(() => expect(billed(metered.soFar())).toMatchObject(exact), { timeout: 20_000 })
    // The estimate is of later runs, with as many blobs outside of the bundles as there can be.
    expect(metered.soFar().readUnits).toBeGreaterThanOrEqual((readUnits ?? 0) - 3)
    expect(metered.soFar().readUnits).toBeLessThanOrEqual(readUnits ?? 0)
    expect(metered.soFar().s3Reads).toBeGreaterThanOrEqual((s3Reads ?? 0) / 2)
    expect(metered.soFar().s3Reads).toBeLessThanOrEqual(s3Reads ?? 0)
  })

  test('turns and reads of project.md use what the estimate says', async () => {
    const { command } = project('memory')
    mkdirSync(join(base, 'memory'), { recursive: true })
    const summary = join(base, 'memory', 'summary.md')
    writeFileSync(summary, 'What was done, and why. '.repeat(20))
    await command(['memory', 'put', 'task-1', '1', '--summary', summary])
    expect(await command(['memory', 'put', 'task-1', '2', '--summary', summary])).toStrictEqual(asked(TURN))
    for (let task = 2; task <= 40; task++) await command(['memory', 'put', `task-${task}`, '1', '--summary', summary])
    const { readUnits = 0, ...exact } = asked(projectMd(40))
    const measured = await command(['memory', 'project'])
    expect(measured).toMatchObject(exact)
    expect(Math.abs((measured.readUnits ?? 0) - readUnits)).toBeLessThanOrEqual(2)
  })

  test('a sweep uses no more than the estimate says', async () => {
    const { command } = project('sweep')
    const root = join(base, 'sweep', 'root')
    await writeWorkspace(root, { files: 300, bytes: FILE_BYTES })
    for (const generation of ['1', '2', '3']) {
      await changeFiles(root, { files: 300, bytes: FILE_BYTES, changes: CHANGED, generation })
      await command(['push', root, '--thread', 't'])
    }
    await command(['prune', '--thread', 't', '--keep', '2'])
    const measured = await command(['sweep', '--older-than', '0s'])
    const expected = sweep(workspace, 2)
    // The command asks how far it is, which the schedule does not.
    expect(measured).toMatchObject({ s3Writes: expected.s3Writes, s3Reads: expected.s3Reads })
    expect(measured.writeUnits).toBeLessThanOrEqual(expected.writeUnits)
    expect((measured.readUnits ?? 0) - 2 * (measured.apiRequests ?? 0)).toBeLessThanOrEqual(expected.readUnits)
  })
})

test.each([
  [10, 300],
  [40, 1_500],
  [1_000, 5_000],
  [1_000, 200_000],
])(
  'looking for %i of the keys of a project with %i blobs takes as many requests as the estimate says',
  async (keys, blobs) => {
    const all = Array.from({ length: blobs }, (_, index) => ({
      key: ((index * 2_654_435_761) % 4_294_967_296).toString(16).padStart(8, '0'),
      ...{ size: 1, uploadedAt: 0 },
    }))
    const sorted = all.toSorted((left, right) => (left.key < right.key ? -1 : 1))
    const used = { lists: 0, heads: 0 }
    const found = await lookUp(
      {
        async page(after) {
          used.lists += 1
          const start = sorted.findIndex(({ key }) => key > after)
          const page = start < 0 ? [] : sorted.slice(start, start + 1_000)
          return { blobs: page, ended: page.length < 1_000 }
        },
        async stat(key) {
          used.heads += 1
          return { key, size: 1, uploadedAt: 0 }
        },
      },
      all.slice(0, keys).map(({ key }) => key),
    )
    expect(found.size).toBe(keys)
    const expected = lookUps(keys, blobs)
    expect(Math.abs(used.lists - expected.lists)).toBeLessThanOrEqual(1)
    expect(Math.abs(used.heads - expected.heads)).toBeLessThanOrEqual(0.1 * keys)
  },
)

test('what is kept takes as many bytes as the estimate says', async () => {
  const { region, credentials, s3Endpoint, dynamodbEndpoint, bucketName, tableName } = metered.stack
  const s3 = new S3Client({ region, credentials: { ...credentials }, endpoint: s3Endpoint, forcePathStyle: true })
  const dynamodb = new DynamoDBClient({ region, credentials: { ...credentials }, endpoint: dynamodbEndpoint })
  const { Contents = [] } = await s3.send(
    new ListObjectsV2Command({ Bucket: bucketName, Prefix: `${OBJECT_PREFIXES.bodies}acme/push-1100/` }),
  )
  expect(Contents).toHaveLength(2)
  for (const { Size = 0 } of Contents) {
    expect(Size / 1_100).toBeGreaterThan(BODY_BYTES_OF_FILE * 0.6)
    expect(Size / 1_100).toBeLessThanOrEqual(BODY_BYTES_OF_FILE)
  }
  const { Items = [] } = await dynamodb.send(new ScanCommand({ TableName: tableName, ReturnConsumedCapacity: 'TOTAL' }))
  const bytesOf = (scope: string) =>
    Items.filter(({ pk }) => pk?.S?.includes(`#${scope}`)).reduce((sum, item) => sum + itemSize(item as WireItem), 0)
  // Two checkpoints each.
  for (const [scope, estimated] of Object.entries({ 'push-100': TABLE_BYTES.inline, 'push-1100': TABLE_BYTES.other })) {
    expect(bytesOf(scope) / 2).toBeGreaterThan(estimated * 0.6)
    expect(bytesOf(scope) / 2).toBeLessThanOrEqual(estimated)
  }
  s3.destroy()
  dynamodb.destroy()
})
