import { Readable } from 'node:stream'
import { marshall } from '@aws-sdk/util-dynamodb'
import { type HttpRequest, HttpResponse } from '@smithy/protocol-http'
import { checkpointAttributes, checkpointName, nameAttributes } from '../src/checkpoints/items.ts'
import { checkpointKey, SHARDS, threadKey } from '../src/table/keys.ts'
import type { Scope } from '../src/tenancy/scope.ts'

/** What a synthetic scope has. Keys are spread evenly, and every tenth object is unused. */
export const OBJECTS = 1_000_000
const UNUSED_EVERY = 10
const USED = OBJECTS - OBJECTS / UNUSED_EVERY
/** Some blobs are used twice. */
export const REFERENCES = 1_000_000
const KEYS_A_CHECKPOINT = 100
export const CHECKPOINTS = REFERENCES / KEYS_A_CHECKPOINT
const CHECKPOINTS_A_THREAD = 50
const THREADS_A_SHARD = CHECKPOINTS / CHECKPOINTS_A_THREAD / SHARDS.length
/** As many as 1 MB holds, as DynamoDB counts it before it leaves out what was not asked for. */
const ITEMS_A_PAGE = 280
const PAGE_READ_UNITS = 256
const PAGE_VERSIONS = 1_000

type Item = Record<string, unknown>

/** Answers the two list calls about one scope with pages as AWS sends them; all else goes on to the engines. */
export class SyntheticLists {
  readonly #scope: Scope
  readonly #blobPrefix: string

  constructor(scope: Scope, blobPrefix: string) {
    this.#scope = scope
    this.#blobPrefix = blobPrefix
  }

  /** The answer, or undefined when the request is not one of the two. */
  answer(request: HttpRequest): HttpResponse | undefined {
    if ('versions' in (request.query ?? {}) && request.query.prefix === this.#blobPrefix) return this.#versions(request)
    if (!request.headers['x-amz-target']?.endsWith('.Query')) return undefined
    const input = JSON.parse(String(request.body)) as QueryInput
    const [kind, , , shard] = input.ExpressionAttributeValues[':pk']?.S.split('#') ?? []
    return kind === 'C' ? this.#items(input, Number(shard)) : undefined
  }

  #versions({ query }: HttpRequest): HttpResponse {
    const marker = query['key-marker']
    const start = typeof marker === 'string' && marker !== this.#blobPrefix ? indexOf(marker) + 1 : 0
    const end = Math.min(OBJECTS, start + PAGE_VERSIONS)
    const versions: string[] = []
    for (let index = start; index < end; index++) {
      versions.push(
        `<Version><Key>${this.#blobPrefix}sandbox-files/sha256/${hashAt(index)}</Key><VersionId>${versionAt(index)}</VersionId>` +
          '<IsLatest>true</IsLatest><LastModified>2020-01-01T00:00:00.000Z</LastModified>' +
          '<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>4096</Size><StorageClass>STANDARD</StorageClass>' +
          '<Owner><ID>75aa57f09aa0c8caeab4f8c24e99d10f8e7faeebf76c078efc7c6caea54ba06a</ID></Owner></Version>',
      )
    }
    const last = `${this.#blobPrefix}sandbox-files/sha256/${hashAt(end - 1)}`
    const next =
      end < OBJECTS
        ? `<NextKeyMarker>${last}</NextKeyMarker><NextVersionIdMarker>${versionAt(end - 1)}</NextVersionIdMarker>`
        : ''
    return answerOf(
      'application/xml',
      `<?xml version="1.0" encoding="UTF-8"?><ListVersionsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` +
        `<IsTruncated>${end < OBJECTS}</IsTruncated>${next}${versions.join('')}</ListVersionsResult>`,
    )
  }

  #items({ ExpressionAttributeNames = {}, ExclusiveStartKey }: QueryInput, shard: number): HttpResponse {
    const wanted = Object.values(ExpressionAttributeNames)
    const start = ExclusiveStartKey ? Number(ExclusiveStartKey.place?.N) : 0
    const total = THREADS_A_SHARD * (1 + CHECKPOINTS_A_THREAD)
    const end = Math.min(total, start + ITEMS_A_PAGE)
    const Items: unknown[] = []
    for (let place = start; place < end; place++) {
      const item = this.#itemAt(shard, place, wanted.includes('keys'))
      const chosen = Object.fromEntries(Object.entries(item).filter(([name]) => wanted.includes(name)))
      Items.push(wireItem(chosen))
    }
    const next = end < total && { LastEvaluatedKey: { place: { N: String(end) } } }
    const answer = { Items, ConsumedCapacity: { CapacityUnits: PAGE_READ_UNITS }, ...next }
    return answerOf('application/x-amz-json-1.0', JSON.stringify(answer))
  }

  /** A thread's item and then its checkpoints', thread after thread. */
  #itemAt(shard: number, place: number, withKeys: boolean): Item {
    const thread = Math.floor(place / (1 + CHECKPOINTS_A_THREAD))
    const sequence = place % (1 + CHECKPOINTS_A_THREAD)
    const threadHash = threadHashAt(shard, thread)
    if (sequence === 0) {
      const head = nameAttributes('head', nameAt(CHECKPOINTS_A_THREAD))
      const live = CHECKPOINTS_A_THREAD
      return { ...threadKey(this.#scope, threadHash), fence: 1, seq: live, mark: 0, live, version: live, ...head }
    }
    const first = ((shard * THREADS_A_SHARD + thread) * CHECKPOINTS_A_THREAD + sequence - 1) * KEYS_A_CHECKPOINT
    const keys = withKeys ? keysFrom(first) : Buffer.alloc(0)
    const encoded = { keys, fileKeys: KEYS_A_CHECKPOINT, artifactKeys: 0, jsonBytes: 1, body: Buffer.alloc(0) }
    const parent = sequence > 1 ? nameAt(sequence - 1) : undefined
    return {
      ...checkpointKey(this.#scope, threadHash, sequence),
      ...checkpointAttributes(nameAt(sequence), parent, encoded, undefined),
    }
  }
}

interface QueryInput {
  ExpressionAttributeValues: Record<string, { S: string }>
  ExpressionAttributeNames?: Record<string, string>
  ExclusiveStartKey?: { place?: { N: string } }
}

function nameAt(sequence: number) {
  return checkpointName(sequence, hashAt(sequence), `checkpoint-${sequence}`)
}

/** The packed keys of the references from `first` on: all used objects in turn, and then the first of them again. */
function keysFrom(first: number): Buffer {
  const hashes: string[] = []
  for (let reference = first; reference < first + KEYS_A_CHECKPOINT; reference++) {
    const used = reference % USED
    // Every tenth object is left out.
    hashes.push(hashAt(used + 1 + Math.floor(used / (UNUSED_EVERY - 1))))
  }
  return Buffer.from(hashes.join(''), 'hex')
}

/** Hashes grow with the index, and are spread over all there are. */
function hashAt(index: number): string {
  const head = Math.floor((index / OBJECTS) * 2 ** 48)
    .toString(16)
    .padStart(12, '0')
  return (head + index.toString(16).padStart(8, '0')).padEnd(64, 'a5c3')
}

function indexOf(key: string): number {
  return Number.parseInt(key.slice(-52, -44), 16)
}

function versionAt(index: number): string {
  return `v${index.toString(36).padStart(31, '0')}`
}

function threadHashAt(shard: number, thread: number): string {
  return (shard * 2 ** 30 + thread + 1).toString(16).padStart(8, '0').padEnd(64, '0')
}

/** Binary values travel as base64. */
function wireItem(item: Item) {
  const values = Object.entries(marshall(item))
  return Object.fromEntries(
    values.map(([name, value]) => [name, value.B ? { B: Buffer.from(value.B).toString('base64') } : value]),
  )
}

function answerOf(contentType: string, text: string): HttpResponse {
  const body = Readable.from([Buffer.from(text)])
  return new HttpResponse({ statusCode: 200, headers: { 'content-type': contentType }, body })
}
