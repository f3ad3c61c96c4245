// Writes to the threads of a scope in a random sequence, tells its parent before and after each write, and stops dead at
// a request of a given number, to be killed there. Runs as a child process with an IPC channel.
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import { createCheckpointStore } from '../../../src/checkpoints/store.ts'
import { checkpoint } from '../../../testkit/checkpoints/fixtures.ts'
import { LEASE_MS, type Operation, ownKey, type Report, SHARED_KEY, type Start } from './kill-protocol.ts'
import { seededRandom } from './stores.ts'

const never = new Promise<never>(() => undefined)

function report(message: Report): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error) => (error ? reject(error) : resolve()))
  })
}

function stopAtRequest(client: DynamoDBClient | S3Client, counter: { requests: number }, start: Start): void {
  const stack = client.middlewareStack as DynamoDBClient['middlewareStack']
  stack.add(
    (next) => async (args) => {
      counter.requests += 1
      if (counter.requests !== start.stopAt) return next(args)
      if (start.stopWhen === 'after') await next(args)
      else if (start.stopWhen === 'during') next(args).catch(() => undefined)
      await report({ kind: 'stopped' })
      return never
    },
    { name: 'stop', step: 'finalizeRequest', priority: 'low' },
  )
}

async function write(start: Start): Promise<void> {
  const { region, credentials, endpoints, seed, time, threads } = start
  const dynamodb = new DynamoDBClient({ endpoint: endpoints.dynamodb, region, credentials })
  const s3 = new S3Client({ endpoint: endpoints.s3, region, credentials, forcePathStyle: true })
  const counter = { requests: 0 }
  for (const client of [dynamodb, s3]) stopAtRequest(client, counter, start)
  const store = createCheckpointStore({ ...start, dynamodb, s3, now: () => time, leaseDurationMs: LEASE_MS })
  const random = seededRandom(seed)
  const pick = (count: number) => Math.floor(random() * count)
  const thread = threads[pick(threads.length)] ?? ''
  let chain = (await store.list(thread)).map(({ id }) => id)
  const writer = await store.acquireWriter(thread)
  const freed: string[] = []
  const begin = (operation: Operation, after: string[], of = thread, before = chain) =>
    report({ kind: 'begin', operation, thread: of, before, after })

  for (let step = 0; ; step++) {
    const operation = chain.length < 2 ? 0 : pick(8)
    const head = chain.at(-1) ?? null
    if (operation < 4) {
      const id = freed.pop() ?? `${seed}-${step}`
      const after = [...chain, id]
      await begin('append', after)
      const files = [ownKey(id), SHARED_KEY].map((blobKey, n) => ({
        path: `${n}`,
        kind: 'file' as const,
        blobKey,
        size: 1,
      }))
      const label = pick(2) === 0 ? 'small' : Array.from({ length: 800 }, () => random().toString(36)).join('')
      const added = checkpoint(thread, id, head, { createdAt: time + step, files, label })
      await store.append({ checkpoint: added, expectedHeadId: head, writer })
      chain = after
    } else if (operation === 4) {
      const after = chain.slice(0, -1)
      await begin('deleteHead', after)
      await store.deleteHead({ threadId: thread, checkpointId: head ?? '', writer })
      freed.push(head ?? '')
      chain = after
    } else if (operation < 7) {
      const keep = 1 + pick(2)
      const after = chain.slice(-keep)
      await begin('prune', after)
      const { deleted } = await store.deleteCheckpoints({ threadId: thread, keep, writer })
      freed.push(...deleted)
      chain = after
    } else {
      const destination = `fork-${seed}-${step}`
      const forkId = `of ${seed}-${step}`
      const lease = await store.acquireWriter(destination)
      await begin('fork', [forkId], destination, [])
      await store.forkFromCheckpoint({
        sourceThreadId: thread,
        sourceCheckpointId: chain[pick(chain.length)] ?? '',
        destinationThreadId: destination,
        destinationCheckpointId: forkId,
        createdAt: time,
        writer: lease,
      })
    }
    await report({ kind: 'done' })
  }
}

process.once('message', (start) => void write(start as Start))
