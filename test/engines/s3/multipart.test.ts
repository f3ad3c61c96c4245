import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  GetObjectAttributesCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { expect } from 'vitest'
import { check, describeS3, sendTo, sha256 } from './engine.ts'

const partBytes = 5 * 1024 ** 2
const large = Buffer.from(Uint8Array.from({ length: 12 * 1024 ** 2 + 7 }, (_, index) => (index * index) >>> 7))

describeS3('multipart uploads', (engine) => {
  const at = (Key: string) => ({ Bucket: engine().bucket, Key })
  const create = async (Key: string, rest: Partial<CreateMultipartUploadCommandInput> = {}) => {
    const { UploadId } = await engine().s3.send(new CreateMultipartUploadCommand({ ...at(Key), ...rest }))
    return { ...at(Key), UploadId }
  }
  type UploadName = Awaited<ReturnType<typeof create>>
  const uploadPart = async (upload: UploadName, PartNumber: number, Body: Buffer | string, rest = {}) => {
    const answer = await engine().s3.send(new UploadPartCommand({ ...upload, PartNumber, Body, ...rest }))
    const { ETag, ChecksumSHA256 } = answer
    return { PartNumber, ETag, ...(ChecksumSHA256 && { ChecksumSHA256 }) }
  }
  const complete = (upload: UploadName, Parts: CompletedPart[], rest = {}) =>
    engine().s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts }, ...rest }))
  const bytesOf = async (Key: string, rest = {}) => {
    const got = await engine().s3.send(new GetObjectCommand({ ...at(Key), ...rest }))
    return Buffer.from((await got.Body?.transformToByteArray()) ?? [])
  }
  const refused = (promise: Promise<unknown>, status: number, name: string) =>
    expect(promise).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } })
  const missing = (Key: string) => refused(engine().s3.send(new GetObjectCommand(at(Key))), 404, 'NoSuchKey')

  check('parts become one object, seen only when it is complete', async () => {
    const upload = await create('whole', { Metadata: { a: 'b' }, ContentType: 'text/x' })
    const second = await uploadPart(upload, 7, large.subarray(partBytes))
    const first = await uploadPart(upload, 2, large.subarray(0, partBytes))
    await missing('whole')
    const { ETag } = await complete(upload, [first, second])
    const md5s = [large.subarray(0, partBytes), large.subarray(partBytes)].map((part) =>
      createHash('md5').update(part).digest(),
    )
    expect(ETag).toBe(`"${createHash('md5').update(Buffer.concat(md5s)).digest('hex')}-2"`)
    expect(sha256(await bytesOf('whole'))).toBe(sha256(large))
    const told = await engine().s3.send(new HeadObjectCommand(at('whole')))
    expect(told).toMatchObject({ ETag, ContentLength: large.length, ContentType: 'text/x', Metadata: { a: 'b' } })
    await refused(engine().s3.send(new ListPartsCommand(upload)), 404, 'NoSuchUpload')
  })

  check('a range crosses from part to part', async () => {
    const upload = await create('crossed')
    const parts = [
      await uploadPart(upload, 1, large.subarray(0, partBytes)),
      await uploadPart(upload, 2, large.subarray(partBytes, 2 * partBytes)),
      await uploadPart(upload, 3, large.subarray(2 * partBytes)),
    ]
    await complete(upload, parts)
    const got = await bytesOf('crossed', { Range: `bytes=${partBytes - 10}-${2 * partBytes + 9}` })
    expect(got.equals(large.subarray(partBytes - 10, 2 * partBytes + 10))).toBe(true)
    const part = await bytesOf('crossed', { PartNumber: 2 })
    expect(part.equals(large.subarray(partBytes, 2 * partBytes))).toBe(true)
  })

  check('the library uploads buffers and streams', async () => {
    const pieces = Array.from({ length: 200 }, (_, index) => large.subarray(index * 65_536, (index + 1) * 65_536))
    for (const [key, Body] of [
      ['library/buffer', large],
      ['library/stream', Readable.from(pieces, { objectMode: false })],
    ] as const) {
      const params = { ...at(key), Body, Metadata: { from: 'library' } }
      await new Upload({ client: engine().s3, params, partSize: partBytes, queueSize: 3 }).done()
      expect(sha256(await bytesOf(key))).toBe(sha256(large))
      const told = await engine().s3.send(new HeadObjectCommand(at(key)))
      expect(told).toMatchObject({ Metadata: { from: 'library' }, ETag: expect.stringMatching(/-3"$/) })
    }
  })

  check('a part that is uploaded again takes the place of the first', async () => {
    const upload = await create('again')
    const old = await uploadPart(upload, 1, 'old')
    const current = await uploadPart(upload, 1, 'new bytes')
    await refused(complete(upload, [old]), 400, 'InvalidPart')
    await complete(upload, [current])
    expect((await bytesOf('again')).toString()).toBe('new bytes')
  })

  check('an upload that is not the key’s own is not found', async () => {
    const upload = await create('mine')
    const other = { ...upload, Key: 'other' }
    await refused(uploadPart(other, 1, 'x'), 404, 'NoSuchUpload')
    await refused(engine().s3.send(new AbortMultipartUploadCommand(other)), 404, 'NoSuchUpload')
    await refused(uploadPart({ ...upload, UploadId: 'made-up' }, 1, 'x'), 404, 'NoSuchUpload')
  })

  check('a part that is too small is refused unless it is the last', async () => {
    const upload = await create('small')
    const parts = [await uploadPart(upload, 1, 'small'), await uploadPart(upload, 2, 'last')]
    await refused(complete(upload, parts), 400, 'EntityTooSmall')
    await missing('small')
  })

  check('parts must be named in order, as they were uploaded', async () => {
    const upload = await create('order')
    const first = await uploadPart(upload, 1, large.subarray(0, partBytes))
    const second = await uploadPart(upload, 2, 'last')
    await refused(complete(upload, [second, first]), 400, 'InvalidPartOrder')
    await refused(complete(upload, [first, first]), 400, 'InvalidPartOrder')
    await refused(complete(upload, [first, { ...second, ETag: first.ETag }]), 400, 'InvalidPart')
    await refused(complete(upload, [first, { PartNumber: 3, ETag: first.ETag }]), 400, 'InvalidPart')
    await refused(complete(upload, []), 400, 'MalformedXML')
    await missing('order')
    await complete(upload, [first, second])
    expect(await bytesOf('order')).toHaveLength(partBytes + 4)
  })

  check('part numbers are from 1 to 10,000', async () => {
    const upload = await create('numbers')
    await refused(uploadPart(upload, 10_001, 'x'), 400, 'InvalidArgument')
    await refused(uploadPart(upload, 0, 'x'), 400, 'InvalidArgument')
    const last = await uploadPart(upload, 10_000, 'x')
    await complete(upload, [last])
    expect((await bytesOf('numbers')).toString()).toBe('x')
  })

  check('completing can be conditional', async () => {
    const { ETag } = await engine().s3.send(new PutObjectCommand({ ...at('guarded'), Body: 'first' }))
    const upload = await create('guarded')
    const part = await uploadPart(upload, 1, 'second')
    await refused(complete(upload, [part], { IfNoneMatch: '*' }), 412, 'PreconditionFailed')
    expect((await bytesOf('guarded')).toString()).toBe('first')
    await complete(upload, [part], { IfMatch: ETag })
    expect((await bytesOf('guarded')).toString()).toBe('second')
  })

  check('of two that complete at once with If-None-Match, one wins', async () => {
    const uploads = await Promise.all(Array.from({ length: 8 }, () => create('race')))
    const parts = await Promise.all(uploads.map((upload, index) => uploadPart(upload, 1, `writer ${index}`)))
    const results = await Promise.allSettled(
      uploads.map((upload, index) => complete(upload, [parts[index] ?? {}], { IfNoneMatch: '*' })),
    )
    const winner = results.findIndex((result) => result.status === 'fulfilled')
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
    expect((await bytesOf('race')).toString()).toBe(`writer ${winner}`)
  })

  check('uploads and parts are listed until the upload is aborted', async () => {
    const upload = await create('listed/a')
    const other = await create('listed/b')
    await uploadPart(upload, 1, 'one')
    await uploadPart(upload, 3, 'three')
    const list = async (rest = {}) =>
      (
        await engine().s3.send(new ListMultipartUploadsCommand({ Bucket: engine().bucket, Prefix: 'listed/', ...rest }))
      ).Uploads?.map((entry) => entry.UploadId)
    expect(await list()).toEqual([upload.UploadId, other.UploadId])
    const parts = await engine().s3.send(new ListPartsCommand(upload))
    expect(parts.Parts?.map((part) => [part.PartNumber, part.Size])).toEqual([
      [1, 3],
      [3, 5],
    ])
    const page = await engine().s3.send(new ListPartsCommand({ ...upload, MaxParts: 1 }))
    expect(page).toMatchObject({ IsTruncated: true, NextPartNumberMarker: '1' })
    const rest = await engine().s3.send(new ListPartsCommand({ ...upload, PartNumberMarker: '1' }))
    expect(rest.Parts?.map((part) => part.PartNumber)).toEqual([3])
    await engine().s3.send(new AbortMultipartUploadCommand(upload))
    await refused(engine().s3.send(new ListPartsCommand(upload)), 404, 'NoSuchUpload')
    await refused(uploadPart(upload, 1, 'x'), 404, 'NoSuchUpload')
    expect(await list()).toEqual([other.UploadId])
  })

  check('lists of uploads have pages', async () => {
    const uploads = [await create('paged/a'), await create('paged/a'), await create('paged/b')]
    const seen: unknown[] = []
    let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {}
    for (let page = 0; page < 5; page++) {
      const answer = await engine().s3.send(
        new ListMultipartUploadsCommand({ Bucket: engine().bucket, Prefix: 'paged/', MaxUploads: 1, ...marker }),
      )
      seen.push(...(answer.Uploads ?? []).map((upload) => upload.UploadId))
      if (!answer.IsTruncated) break
      marker = { KeyMarker: answer.NextKeyMarker, UploadIdMarker: answer.NextUploadIdMarker }
    }
    expect(seen.toSorted()).toEqual(uploads.map((upload) => upload.UploadId).toSorted())
  })

  check('a SHA-256 upload has the checksum of its parts’ checksums', async () => {
    const upload = await create('composite', { ChecksumAlgorithm: 'SHA256' })
    const pieces = [large.subarray(0, partBytes), large.subarray(partBytes)]
    const parts = await Promise.all(
      pieces.map((piece, index) => uploadPart(upload, index + 1, piece, { ChecksumAlgorithm: 'SHA256' })),
    )
    await complete(upload, parts)
    const composite = createHash('sha256')
    for (const piece of pieces) composite.update(createHash('sha256').update(piece).digest())
    const told = await engine().s3.send(new HeadObjectCommand({ ...at('composite'), ChecksumMode: 'ENABLED' }))
    expect(told).toMatchObject({ ChecksumSHA256: `${composite.digest('base64')}-2`, ChecksumType: 'COMPOSITE' })
    const attributes = await engine().s3.send(
      new GetObjectAttributesCommand({ ...at('composite'), ObjectAttributes: ['ObjectParts'] }),
    )
    expect(attributes.ObjectParts?.Parts?.map((part) => part.Size)).toEqual([partBytes, large.length - partBytes])
  })

  check('a SHA-256 upload wants the checksum of each part, when it comes and in the list', async () => {
    const upload = await create('strict', { ChecksumAlgorithm: 'SHA256' })
    await refused(uploadPart(upload, 1, 'x'), 400, 'InvalidRequest')
    await refused(uploadPart(upload, 1, 'x', { ChecksumAlgorithm: 'CRC32' }), 400, 'InvalidRequest')
    await refused(uploadPart(upload, 1, 'x', { ChecksumSHA256: sha256('y') }), 400, 'BadDigest')
    const part = await uploadPart(upload, 1, 'x', { ChecksumAlgorithm: 'SHA256' })
    await refused(complete(upload, [{ PartNumber: 1, ETag: part.ETag }]), 400, 'InvalidRequest')
    await refused(complete(upload, [{ ...part, ChecksumSHA256: sha256('y') }]), 400, 'InvalidPart')
    await missing('strict')
    await complete(upload, [part])
  })

  check('a checksum of the whole object is computed, and compared with a stated one', async () => {
    const upload = await create('full', { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' })
    const parts = [
      await uploadPart(upload, 1, large.subarray(0, partBytes)),
      await uploadPart(upload, 2, large.subarray(partBytes)),
    ]
    await refused(complete(upload, parts, { ChecksumCRC32: 'AAAAAA==' }), 400, 'BadDigest')
    await missing('full')
    await complete(upload, parts)
    await engine().s3.send(new PutObjectCommand({ ...at('full-once'), Body: large, ChecksumAlgorithm: 'CRC32' }))
    const checksums = await Promise.all(
      ['full', 'full-once'].map(async (key) => {
        const told = await engine().s3.send(new HeadObjectCommand({ ...at(key), ChecksumMode: 'ENABLED' }))
        return [told.ChecksumCRC32, told.ChecksumType]
      }),
    )
    expect(checksums[0]).toEqual(checksums[1])
    expect(checksums[0]?.[1]).toBe('FULL_OBJECT')
  })

  check('checksums of a kind that an algorithm has not are refused', async () => {
    await refused(create('kind', { ChecksumAlgorithm: 'SHA256', ChecksumType: 'FULL_OBJECT' }), 400, 'InvalidRequest')
    await refused(create('kind', { ChecksumAlgorithm: 'CRC64NVME', ChecksumType: 'COMPOSITE' }), 400, 'InvalidRequest')
    await refused(create('kind', { ChecksumType: 'FULL_OBJECT' }), 400, 'InvalidRequest')
  })

  check('a presigned part needs no credentials', async () => {
    const upload = await create('presigned')
    const url = await getSignedUrl(engine().s3, new UploadPartCommand({ ...upload, PartNumber: 1 }))
    const { status, headers } = await sendTo(url, { method: 'PUT', body: 'part' })
    expect(status).toBe(200)
    await complete(upload, [{ PartNumber: 1, ETag: headers.etag }])
    expect((await bytesOf('presigned')).toString()).toBe('part')
  })

  check('a part can be copied from an object, or from a range of it', async () => {
    await engine().s3.send(new PutObjectCommand({ ...at('part source'), Body: '0123456789' }))
    const upload = await create('copied')
    const CopySource = `${engine().bucket}/part%20source`
    const copy = (PartNumber: number, CopySourceRange?: string) =>
      engine().s3.send(new UploadPartCopyCommand({ ...upload, PartNumber, CopySource, CopySourceRange }))
    await refused(copy(1, 'bytes=5-10'), 400, 'InvalidArgument')
    const { CopyPartResult } = await copy(1, 'bytes=2-5')
    await complete(upload, [{ PartNumber: 1, ETag: CopyPartResult?.ETag }])
    expect((await bytesOf('copied')).toString()).toBe('2345')
  })
})
