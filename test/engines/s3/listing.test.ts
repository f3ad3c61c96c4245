import { createHash } from 'node:crypto'
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  PutObjectCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { check, describeS3, sendSigned } from './engine.ts'

describeS3('lists', (engine) => {
  const put = (Key: string, Body = '') =>
    engine().s3.send(new PutObjectCommand({ Bucket: engine().bucket, Key, Body: Buffer.from(Body) }))
  const putAll = async (keys: string[]) => {
    for (let index = 0; index < keys.length; index += 50) {
      await Promise.all(keys.slice(index, index + 50).map((key) => put(key)))
    }
  }
  const list = (rest: Partial<ListObjectsV2CommandInput>) =>
    engine().s3.send(new ListObjectsV2Command({ Bucket: engine().bucket, ...rest }))
  const keysOf = (answer: { Contents?: Array<{ Key?: string | undefined }> | undefined }) =>
    (answer.Contents ?? []).map((entry) => entry.Key)
  const prefixesOf = (answer: { CommonPrefixes?: Array<{ Prefix?: string | undefined }> | undefined }) =>
    (answer.CommonPrefixes ?? []).map((entry) => entry.Prefix)
  const numbered = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(4, '0')}`)

  check('pages follow each other without a gap or a repeat', async () => {
    const keys = numbered('pages/', 25)
    await putAll([...keys, 'pages-other'])
    const seen: unknown[] = []
    const sizes: unknown[] = []
    let token: string | undefined
    do {
      const page = await list({ Prefix: 'pages/', MaxKeys: 10, ContinuationToken: token })
      seen.push(...keysOf(page))
      sizes.push(page.KeyCount)
      token = page.NextContinuationToken
      expect(page.IsTruncated).toBe(token !== undefined)
    } while (token !== undefined && sizes.length < 9)
    expect(seen).toEqual(keys)
    expect(sizes).toEqual([10, 10, 5])
  })

  check('a full last page ends the list', async () => {
    await putAll(numbered('exact/', 10))
    const page = await list({ Prefix: 'exact/', MaxKeys: 10 })
    expect(page).toMatchObject({ KeyCount: 10, IsTruncated: false })
    expect(page.NextContinuationToken).toBeUndefined()
  })

  check('a page has at most 1,000 keys, whatever is asked', async () => {
    await putAll(numbered('many/', 1005))
    const sizes: unknown[] = []
    for await (const page of paginateListObjectsV2(
      { client: engine().s3 },
      { Bucket: engine().bucket, Prefix: 'many/', MaxKeys: 5000 },
    )) {
      sizes.push(page.Contents?.length)
    }
    expect(sizes).toEqual([1000, 5])
  })

  check('an entry tells size, time and ETag', async () => {
    const { ETag } = await put('entry/one', 'four')
    const [entry] = (await list({ Prefix: 'entry/' })).Contents ?? []
    expect(entry).toMatchObject({ Key: 'entry/one', Size: 4, ETag, StorageClass: 'STANDARD' })
    expect(entry?.LastModified?.getUTCMilliseconds()).toBe(0)
  })

  check('keys come in the order of their UTF-8 bytes', async () => {
    const ordered = ['order/-', 'order/Z', 'order/a', 'order/é', 'order/\uff5e', 'order/😀']
    await putAll(ordered.toReversed())
    expect(keysOf(await list({ Prefix: 'order/' }))).toEqual(ordered)
  })

  check('a delimiter rolls keys up', async () => {
    await putAll(['roll/a', 'roll/b/1', 'roll/b/2', 'roll/c/d/1', 'roll/e'])
    const page = await list({ Prefix: 'roll/', Delimiter: '/' })
    expect(keysOf(page)).toEqual(['roll/a', 'roll/e'])
    expect(prefixesOf(page)).toEqual(['roll/b/', 'roll/c/'])
    expect(page.KeyCount).toBe(4)
  })

  check('pages of rolled-up keys do not repeat a prefix', async () => {
    await putAll(['fold/a/1', 'fold/a/2', 'fold/b/1', 'fold/b/2', 'fold/c', 'fold/d/1'])
    const seen: unknown[] = []
    let token: string | undefined
    let pages = 0
    do {
      const page = await list({ Prefix: 'fold/', Delimiter: '/', MaxKeys: 1, ContinuationToken: token })
      seen.push(...keysOf(page), ...prefixesOf(page))
      token = page.NextContinuationToken
    } while (token !== undefined && ++pages < 9)
    expect(seen).toEqual(['fold/a/', 'fold/b/', 'fold/c', 'fold/d/'])
  })

  check('StartAfter begins behind a key, whether it exists or not', async () => {
    await putAll(numbered('start/', 5))
    const behind = ['start/0003', 'start/0004']
    expect(keysOf(await list({ Prefix: 'start/', StartAfter: 'start/0002' }))).toEqual(behind)
    expect(keysOf(await list({ Prefix: 'start/', StartAfter: 'start/0002!' }))).toEqual(behind)
    expect(keysOf(await list({ Prefix: 'start/', StartAfter: 'a' }))).toHaveLength(5)
    expect(keysOf(await list({ Prefix: 'start/', StartAfter: 'z' }))).toEqual([])
  })

  check('no key at all can be asked for', async () => {
    await put('zero/1')
    const page = await list({ Prefix: 'zero/', MaxKeys: 0 })
    expect(keysOf(page)).toEqual([])
    expect(page).toMatchObject({ IsTruncated: false, KeyCount: 0 })
  })

  check('names are percent-encoded when asked', async () => {
    await put('enc/a b&c+é/x')
    const page = await list({ Prefix: 'enc/a b', Delimiter: '/', EncodingType: 'url' })
    expect(page).toMatchObject({ EncodingType: 'url', Prefix: 'enc/a%20b' })
    const inside = await list({ Prefix: 'enc/', EncodingType: 'url' })
    expect(keysOf(inside)).toEqual(['enc/a%20b%26c%2B%C3%A9/x'])
  })

  check('keys with control characters come back in XML', async () => {
    await put('control/\u0001\n\r&<>"')
    const answer = await sendSigned(engine(), {
      method: 'GET',
      path: `/${engine().bucket}`,
      query: { 'list-type': '2', prefix: 'control/' },
    })
    expect(answer.body.toString()).toContain('<Key>control/&#x1;')
  })

  check('what is no list is refused', async () => {
    const refused: Array<Record<string, string>> = [
      { 'max-keys': 'x' },
      { 'max-keys': '-1' },
      { 'encoding-type': 'json' },
      { 'continuation-token': '' },
      { 'continuation-token': 'no base64!' },
    ]
    for (const query of refused) {
      const request = { method: 'GET', path: `/${engine().bucket}`, query: { 'list-type': '2', ...query } }
      expect(await sendSigned(engine(), request)).toMatchObject({ status: 400, code: 'InvalidArgument' })
    }
    await expect(list({ Bucket: 'sandkeep-no-such-bucket' })).rejects.toMatchObject({ name: 'NoSuchBucket' })
  })

  check('the first form of lists has markers', async () => {
    await putAll(['v1/a', 'v1/b/1', 'v1/c', 'v1/d'])
    const listV1 = (rest: object) =>
      engine().s3.send(new ListObjectsCommand({ Bucket: engine().bucket, Prefix: 'v1/', ...rest }))
    const first = await listV1({ Delimiter: '/', MaxKeys: 2 })
    expect(keysOf(first)).toEqual(['v1/a'])
    expect(prefixesOf(first)).toEqual(['v1/b/'])
    expect(first).toMatchObject({ IsTruncated: true, NextMarker: 'v1/b/' })
    const second = await listV1({ Delimiter: '/', Marker: first.NextMarker })
    expect(keysOf(second)).toEqual(['v1/c', 'v1/d'])
    expect(prefixesOf(second)).toEqual([])
    const plain = await listV1({ MaxKeys: 2 })
    expect(keysOf(await listV1({ Marker: keysOf(plain).at(-1) }))).toEqual(['v1/c', 'v1/d'])
  })

  check('a list during writes shows each key at most once, and all that were there', async () => {
    const stable = numbered('busy/stable-', 100)
    await putAll(stable)
    const writes = Promise.all(numbered('busy/new-', 100).map((key) => put(key)))
    const seen: unknown[] = []
    let token: string | undefined
    do {
      const page = await list({ Prefix: 'busy/', MaxKeys: 7, ContinuationToken: token })
      seen.push(...keysOf(page))
      token = page.NextContinuationToken
    } while (token !== undefined)
    await writes
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.filter((key) => String(key).startsWith('busy/stable-'))).toEqual(stable)
    expect((await list({ Prefix: 'busy/' })).KeyCount).toBe(200)
  })

  const deleteAll = (keys: string[], Quiet = false) =>
    engine().s3.send(
      new DeleteObjectsCommand({
        Bucket: engine().bucket,
        Delete: { Quiet, Objects: keys.map((Key) => ({ Key })) },
      }),
    )

  check('1,000 keys are deleted at once, missing ones too', async () => {
    const keys = numbered('bulk/', 20)
    await putAll([...keys, 'bulk/kept'])
    const absent = numbered('bulk/none-', 980)
    const answer = await deleteAll([...keys, ...absent])
    expect(answer.Deleted).toHaveLength(1000)
    expect(answer.Errors ?? []).toEqual([])
    expect(keysOf(await list({ Prefix: 'bulk/' }))).toEqual(['bulk/kept'])
  })

  check('more than 1,000 keys, or none, are refused and nothing is deleted', async () => {
    await put('bulk-refused/0000')
    await expect(deleteAll(numbered('bulk-refused/', 1001))).rejects.toMatchObject({ name: 'MalformedXML' })
    await expect(deleteAll([])).rejects.toMatchObject({ name: 'MalformedXML' })
    expect((await list({ Prefix: 'bulk-refused/' })).KeyCount).toBe(1)
  })

  check('keys that XML must escape are deleted; quiet answers name no key', async () => {
    const keys = ['escape/a&b<c>', 'escape/é ü+%', 'escape/ spaces ', 'escape/line\nend\r']
    await putAll(keys)
    const answer = await deleteAll(keys, true)
    expect(answer.Deleted ?? []).toEqual([])
    expect(answer.Errors ?? []).toEqual([])
    expect(keysOf(await list({ Prefix: 'escape/' }))).toEqual([])
  })

  check('a bulk delete must come with a digest, and as XML', async () => {
    const request = { method: 'POST', path: `/${engine().bucket}`, query: { delete: '' } }
    const body = '<Delete><Object><Key>k</Key></Object></Delete>'
    expect(await sendSigned(engine(), { ...request, body })).toMatchObject({ status: 400, code: 'InvalidRequest' })
    for (const text of ['<Delete>', 'text', '<Other/>', '<!DOCTYPE x><Delete/>', '<Delete><Object/></Delete>']) {
      const answer = await sendSigned(engine(), { ...request, body: text, headers: { 'content-md5': md5(text) } })
      expect(answer).toMatchObject({ status: 400, code: 'MalformedXML' })
    }
  })

  check('a key that was deleted leaves the list', async () => {
    await putAll(['leave/1', 'leave/2'])
    await engine().s3.send(new DeleteObjectCommand({ Bucket: engine().bucket, Key: 'leave/1' }))
    expect(keysOf(await list({ Prefix: 'leave/' }))).toEqual(['leave/2'])
  })
})

function md5(text: string): string {
  return createHash('md5').update(text).digest('base64')
}
