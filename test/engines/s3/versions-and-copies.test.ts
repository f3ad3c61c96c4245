import { randomUUID } from 'node:crypto'
import {
  CopyObjectCommand,
  type CopyObjectCommandInput,
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  DeleteObjectTaggingCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  PutObjectTaggingCommand,
} from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { check, describeS3 } from './engine.ts'

describeS3('versions, tags and copies', (engine) => {
  const put = (Bucket: string, Key: string, Body: string, rest: Partial<PutObjectCommandInput> = {}) =>
    engine().s3.send(new PutObjectCommand({ Bucket, Key, Body, ...rest }))
  const read = async (Bucket: string, Key: string, VersionId?: string) =>
    (await engine().s3.send(new GetObjectCommand({ Bucket, Key, VersionId }))).Body?.transformToString()
  const refused = (promise: Promise<unknown>, status: number, name?: string) =>
    expect(promise).rejects.toMatchObject({ $metadata: { httpStatusCode: status }, ...(name && { name }) })
  const versioned = async () => {
    const Bucket = `suite-${randomUUID()}`
    await engine().s3.send(new CreateBucketCommand({ Bucket }))
    const VersioningConfiguration = { Status: 'Enabled' } as const
    await engine().s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }))
    return Bucket
  }
  const list = (Bucket: string, rest = {}) => engine().s3.send(new ListObjectVersionsCommand({ Bucket, ...rest }))

  check('each put adds a version, and all can be read', async () => {
    const bucket = await versioned()
    const first = await put(bucket, 'k', 'first')
    const second = await put(bucket, 'k', 'second')
    expect(first.VersionId).not.toBe(second.VersionId)
    expect(await read(bucket, 'k')).toBe('second')
    expect(await read(bucket, 'k', first.VersionId)).toBe('first')
    const { Versions } = await list(bucket)
    expect(Versions?.map((version) => [version.VersionId, version.IsLatest])).toEqual([
      [second.VersionId, true],
      [first.VersionId, false],
    ])
  })

  check('a delete leaves a marker; deleting the marker brings the object back', async () => {
    const bucket = await versioned()
    const { VersionId } = await put(bucket, 'k', 'kept')
    const marker = await engine().s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'k' }))
    expect(marker.DeleteMarker).toBe(true)
    await refused(read(bucket, 'k'), 404, 'NoSuchKey')
    expect((await engine().s3.send(new ListObjectsV2Command({ Bucket: bucket }))).KeyCount).toBe(0)
    expect(await read(bucket, 'k', VersionId)).toBe('kept')
    expect((await list(bucket)).DeleteMarkers).toMatchObject([
      { Key: 'k', VersionId: marker.VersionId, IsLatest: true },
    ])
    await refused(put(bucket, 'k', 'not written', { IfMatch: '*' }), 404, 'NoSuchKey')
    await engine().s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'k', VersionId: marker.VersionId }))
    expect(await read(bucket, 'k')).toBe('kept')
  })

  check('If-None-Match * creates on top of a marker', async () => {
    const bucket = await versioned()
    await put(bucket, 'k', 'first')
    await refused(put(bucket, 'k', 'second', { IfNoneMatch: '*' }), 412)
    await engine().s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'k' }))
    await put(bucket, 'k', 'third', { IfNoneMatch: '*' })
    expect(await read(bucket, 'k')).toBe('third')
  })

  check('a version is deleted for good', async () => {
    const bucket = await versioned()
    const first = await put(bucket, 'k', 'first')
    const second = await put(bucket, 'k', 'second')
    const Objects = [{ Key: 'k', VersionId: second.VersionId }]
    await engine().s3.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } }))
    expect(await read(bucket, 'k')).toBe('first')
    await refused(
      engine().s3.send(new HeadObjectCommand({ Bucket: bucket, Key: 'k', VersionId: second.VersionId })),
      404,
    )
    await engine().s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'k', VersionId: first.VersionId }))
    expect((await list(bucket)).Versions ?? []).toEqual([])
  })

  check('a suspended bucket replaces the version without an id only', async () => {
    const bucket = await versioned()
    const kept = await put(bucket, 'k', 'kept')
    const VersioningConfiguration = { Status: 'Suspended' } as const
    await engine().s3.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration }))
    await put(bucket, 'k', 'first')
    await put(bucket, 'k', 'second')
    expect((await list(bucket)).Versions?.map((version) => version.VersionId)).toEqual(['null', kept.VersionId])
    expect(await read(bucket, 'k', 'null')).toBe('second')
    expect(await read(bucket, 'k', kept.VersionId)).toBe('kept')
  })

  check('lists of versions have pages', async () => {
    const bucket = await versioned()
    for (const key of ['a', 'b']) for (const body of ['1', '2', '3']) await put(bucket, key, body)
    const seen: string[] = []
    let marker = {}
    for (let page = 0; page < 5; page++) {
      const answer = await list(bucket, { MaxKeys: 2, ...marker })
      seen.push(...(answer.Versions ?? []).map((version) => `${version.Key} ${version.VersionId}`))
      if (!answer.IsTruncated) break
      marker = { KeyMarker: answer.NextKeyMarker, VersionIdMarker: answer.NextVersionIdMarker }
    }
    expect(new Set(seen).size).toBe(6)
    expect(seen.map((name) => name[0]).join('')).toBe('aaabbb')
  })

  check('tags come with a put, are replaced and deleted; the object stays', async () => {
    const { bucket: Bucket } = engine()
    const { ETag } = await put(Bucket, 'tagged', 'x', { Tagging: 'state=pending&note=a%20b' })
    const tags = async () => (await engine().s3.send(new GetObjectTaggingCommand({ Bucket, Key: 'tagged' }))).TagSet
    expect(await tags()).toEqual([
      { Key: 'state', Value: 'pending' },
      { Key: 'note', Value: 'a b' },
    ])
    const Tagging = { TagSet: [{ Key: 'state', Value: 'done' }] }
    await engine().s3.send(new PutObjectTaggingCommand({ Bucket, Key: 'tagged', Tagging }))
    expect(await tags()).toEqual(Tagging.TagSet)
    const told = await engine().s3.send(new GetObjectCommand({ Bucket, Key: 'tagged' }))
    expect(told).toMatchObject({ ETag, TagCount: 1 })
    await engine().s3.send(new DeleteObjectTaggingCommand({ Bucket, Key: 'tagged' }))
    expect(await tags()).toEqual([])
    expect(await read(Bucket, 'tagged')).toBe('x')
  })

  check('more than 10 tags, or a key twice, are refused', async () => {
    const { bucket: Bucket } = engine()
    await put(Bucket, 'tags', 'x')
    const tag = (TagSet: Array<{ Key: string; Value: string }>) =>
      engine().s3.send(new PutObjectTaggingCommand({ Bucket, Key: 'tags', Tagging: { TagSet } }))
    const many = Array.from({ length: 11 }, (_, index) => ({ Key: `k${index}`, Value: 'v' }))
    await refused(tag(many), 400)
    await refused(tag([...many.slice(0, 1), ...many.slice(0, 1)]), 400, 'InvalidTag')
    await refused(tag([{ Key: 'x'.repeat(129), Value: '' }]), 400, 'InvalidTag')
  })

  const copy = (source: string, Key: string, rest: Partial<CopyObjectCommandInput> = {}) => {
    const { bucket: Bucket } = engine()
    const CopySource = `${Bucket}/${encodeURIComponent(source)}`
    return engine().s3.send(new CopyObjectCommand({ Bucket, Key, CopySource, ...rest }))
  }

  check('a copy has the bytes, and the metadata unless it is replaced', async () => {
    const { bucket: Bucket } = engine()
    const { ETag } = await put(Bucket, 'copy/é +&?', 'copy me', {
      Metadata: { a: '1' },
      ContentType: 'text/x',
      Tagging: 'k=v',
    })
    const { CopyObjectResult } = await copy('copy/é +&?', 'copy/same')
    expect(CopyObjectResult?.ETag).toBe(ETag)
    const same = await engine().s3.send(new GetObjectCommand({ Bucket, Key: 'copy/same' }))
    expect(same).toMatchObject({ Metadata: { a: '1' }, ContentType: 'text/x', TagCount: 1 })
    expect(await same.Body?.transformToString()).toBe('copy me')
    await copy('copy/é +&?', 'copy/other', { MetadataDirective: 'REPLACE', Metadata: { b: '2' } })
    const other = await engine().s3.send(new HeadObjectCommand({ Bucket, Key: 'copy/other' }))
    expect(other.Metadata).toEqual({ b: '2' })
    await engine().s3.send(new DeleteObjectCommand({ Bucket, Key: 'copy/é +&?' }))
    expect(await read(Bucket, 'copy/other')).toBe('copy me')
  })

  check('a copy onto itself must change something', async () => {
    const { bucket: Bucket } = engine()
    await put(Bucket, 'copy/self', 'stays')
    await refused(copy('copy/self', 'copy/self'), 400, 'InvalidRequest')
    await copy('copy/self', 'copy/self', { MetadataDirective: 'REPLACE', Metadata: { new: '1' } })
    expect(await read(Bucket, 'copy/self')).toBe('stays')
  })

  check('a copy of what is missing is refused', async () => {
    await refused(copy('copy/absent', 'copy/nothing'), 404, 'NoSuchKey')
  })

  check('a copy can be conditional on its source and on its target', async () => {
    const { bucket: Bucket } = engine()
    const { ETag } = await put(Bucket, 'copy/source', 'x')
    await refused(copy('copy/source', 'copy/target', { CopySourceIfNoneMatch: ETag }), 412)
    await refused(copy('copy/source', 'copy/target', { CopySourceIfMatch: '"0"' }), 412)
    await copy('copy/source', 'copy/target', { CopySourceIfMatch: ETag, IfNoneMatch: '*' })
    await refused(copy('copy/source', 'copy/target', { IfNoneMatch: '*' }), 412)
  })
})
