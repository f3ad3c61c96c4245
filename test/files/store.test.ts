import { afterAll, describe, expect, it } from 'vitest'
import { ConflictError, InvalidInputError, NotFoundError, PayloadTooLargeError } from '../../src/errors.ts'
import { createFileStore } from '../../src/files/store.ts'
import { APP_OWNER } from '../../src/files/types.ts'
import { injectFaults } from '../store/support/faults.ts'
import { send } from '../store/support/send.ts'
import { KEPT_NAMES, REFUSED_NAMES, SHORTENED_NAMES } from './support/names.ts'
import { contentOf, DAY, HOUR, listed, newFile, start, world } from './support/world.ts'

const engines = await start()
afterAll(() => engines.stop())

describe('a file', () => {
  it('is made, found, listed and deleted', async () => {
    const { files, clock } = world(engines)
    const made = await files().create(newFile())
    expect(made).toEqual({
      id: expect.stringMatching(/^file_[0-9a-f]{32}$/),
      filename: 'a.txt',
      mimeType: 'text/plain',
      sizeBytes: 5,
      createdAt: clock.now,
      downloadable: false,
      expiresAt: clock.now + 30 * DAY,
    })
    expect(await files().get(made.id)).toEqual(made)
    expect(await files().list()).toEqual({ files: [made], nextPage: null })
    await files().delete(made.id)
    await expect(files().get(made.id)).rejects.toThrow(NotFoundError)
    await expect(files().delete(made.id)).rejects.toThrow(NotFoundError)
    expect(await files().list()).toEqual({ files: [], nextPage: null })
  })

  it('that many delete at once is deleted by one of them', async () => {
    const { files } = world(engines)
    const { id } = await files().create(newFile({ scope: 'app' }))
    const deleted = await Promise.allSettled(Array.from({ length: 6 }, (_, index) => files(`u${index}`).delete(id)))
    expect(deleted.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of deleted) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(NotFoundError)
  })

  it('of a sandbox can be downloaded, and has no end unless one is given', async () => {
    const { files, clock } = world(engines)
    const made = await files().create(newFile({ fromSandbox: true }))
    expect(made).toMatchObject({ downloadable: true, expiresAt: null })
    expect((await contentOf(files(), made.id)).toString()).toBe('hello')
    const ending = await files().create(newFile({ fromSandbox: true, expiresInSeconds: 3_600 }))
    expect(ending.expiresAt).toBe(clock.now + HOUR)
  })

  it('that was uploaded cannot be downloaded', async () => {
    const { files } = world(engines)
    const { id } = await files().create(newFile())
    await expect(files().open(id)).rejects.toMatchObject({ status: 409, code: 'file_not_downloadable' })
  })

  it('over the inline limit is downloaded from the bucket, with its type and its name', async () => {
    const { files } = world(engines)
    const bytes = Buffer.alloc(4_194_305, 7)
    const { id } = await files().create(newFile({ fromSandbox: true, bytes, filename: '\u58f2"x.bin' }))
    const { content } = await files().open(id)
    if (content.kind !== 'redirect') throw new Error('It is not redirected.')
    const answer = await fetch(content.url)
    expect(answer.headers.get('content-type')).toBe('text/plain')
    expect(answer.headers.get('content-disposition')).toContain("filename*=UTF-8''%E5%A3%B2%22x.bin")
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true)
    const atLimit = await files().create(newFile({ fromSandbox: true, bytes: bytes.subarray(1) }))
    expect((await files().open(atLimit.id)).content.kind).toBe('pieces')
  })

  it('of no bytes is one too', async () => {
    const { files } = world(engines)
    const { id, sizeBytes } = await files().create(newFile({ fromSandbox: true, bytes: new Uint8Array() }))
    expect(sizeBytes).toBe(0)
    expect(await contentOf(files(), id)).toHaveLength(0)
  })
})

describe('a name', () => {
  it.each(KEPT_NAMES)('with %s is kept', async (_what, filename) => {
    const { files } = world(engines)
    const { id } = await files().create(newFile({ filename }))
    expect((await files().get(id)).filename).toBe(filename)
    expect((await files().list()).files[0]?.filename).toBe(filename)
  })

  it.each(SHORTENED_NAMES)('%j becomes %j', async (filename, kept) => {
    expect((await world(engines).files().create(newFile({ filename }))).filename).toBe(kept)
  })

  it.each(REFUSED_NAMES)('of %s is refused', async (_what, filename) => {
    const { files } = world(engines)
    await expect(files().create(newFile({ filename }))).rejects.toMatchObject({ status: 400, field: 'filename' })
    await expect(files().startUpload({ ...newFile({ filename }), sizeBytes: 1 })).rejects.toThrow(InvalidInputError)
    expect(await listed(files())).toEqual([])
  })
})

describe('a type', () => {
  it.each([
    ['text/plain; charset=utf-8', 'text/plain'],
    ['Image/PNG', 'image/png'],
    ['application/vnd.ms-excel.sheet+xml', 'application/vnd.ms-excel.sheet+xml'],
  ])('%j becomes %j', async (mimeType, kept) => {
    expect((await world(engines).files().create(newFile({ mimeType }))).mimeType).toBe(kept)
  })

  it.each(['', 'text', 'text/', '/plain', 'text/pl ain', 'text/pl\r\nx: y', 'text/\u00e9', `a/${'b'.repeat(254)}`])(
    '%j is refused',
    async (mimeType) => {
      const made = world(engines).files().create(newFile({ mimeType }))
      await expect(made).rejects.toMatchObject({ status: 400, field: 'mime_type' })
    },
  )
})

describe('the life of a file', () => {
  it.each([3_600, 7_776_000])('may be %d seconds', async (expiresInSeconds) => {
    const { files, clock } = world(engines)
    const { expiresAt } = await files().create(newFile({ expiresInSeconds }))
    expect(expiresAt).toBe(clock.now + expiresInSeconds * 1_000)
  })

  it.each([3_599, 7_776_001, 3_600.5, 0, -3_600, Number.NaN, Number.POSITIVE_INFINITY])(
    'may not be %d seconds',
    async (expiresInSeconds) => {
      const made = world(engines).files().create(newFile({ expiresInSeconds }))
      await expect(made).rejects.toMatchObject({ status: 400, field: 'expires_in_seconds' })
    },
  )

  it('ends to the millisecond, everywhere, and is as if it had never been', async () => {
    const { files, clock } = world(engines)
    const { id } = await files().create(newFile({ expiresInSeconds: 3_600, fromSandbox: true }))
    clock.now += HOUR - 1
    expect(await listed(files())).toEqual([id])
    expect(await files().get(id)).toMatchObject({ id })
    clock.now += 1
    expect(await listed(files())).toEqual([])
    const unknown = await files()
      .get('file_0')
      .catch((error: Error) => error)
    for (const refused of [files().get(id), files().open(id), files().delete(id)]) {
      await expect(refused).rejects.toEqual(unknown)
    }
  })
})

describe('an upload', () => {
  const announced = { ...newFile(), sizeBytes: 5 }

  it('becomes a file when it is completed, and the same file when it is completed again', async () => {
    const { files } = world(engines)
    const { uploadId, request } = await files().startUpload(announced)
    expect(await listed(files())).toEqual([])
    await expect(files().completeUpload(uploadId)).rejects.toMatchObject({ status: 409, code: 'upload_incomplete' })
    expect((await send(request, Buffer.from('hello'))).status).toBe(200)
    const { file, isNew } = await files().completeUpload(uploadId)
    expect(isNew).toBe(true)
    expect(file).toMatchObject({ filename: 'a.txt', sizeBytes: 5, downloadable: false })
    expect(await files().completeUpload(uploadId)).toEqual({ file, isNew: false })
    expect(await listed(files())).toEqual([file.id])
  })

  it('that is completed many times at once makes one file', async () => {
    const { files } = world(engines)
    const { uploadId, request } = await files().startUpload(announced)
    await send(request, Buffer.from('hello'))
    const completed = await Promise.all(Array.from({ length: 8 }, () => files().completeUpload(uploadId)))
    expect(completed.filter(({ isNew }) => isNew)).toHaveLength(1)
    expect(new Set(completed.map(({ file }) => file.id)).size).toBe(1)
    expect(await listed(files())).toHaveLength(1)
  })

  it('is nobody else\u2019s', async () => {
    const { files, scope } = world(engines)
    const { uploadId, request } = await files('ann').startUpload({ ...announced, scope: 'app' })
    await send(request, Buffer.from('hello'))
    const elsewhere = { scope: { ...scope, project: 'other' } }
    for (const store of [files('bob'), files('ann', elsewhere)]) {
      await expect(store.completeUpload(uploadId)).rejects.toMatchObject({ status: 404 })
    }
    await expect(files().completeUpload('no-upload')).rejects.toMatchObject({ status: 404 })
    expect((await files('ann').completeUpload(uploadId)).isNew).toBe(true)
  })

  it('that begun 12 hours ago is over', async () => {
    const { files, clock } = world(engines)
    const { uploadId, request } = await files().startUpload(announced)
    await send(request, Buffer.from('hello'))
    clock.now += 12 * HOUR
    await expect(files().completeUpload(uploadId)).rejects.toThrow(NotFoundError)
  })

  it('whose file is deleted gives that file no more', async () => {
    const { files } = world(engines)
    const { uploadId, request } = await files().startUpload(announced)
    await send(request, Buffer.from('hello'))
    const { file } = await files().completeUpload(uploadId)
    await files().delete(file.id)
    await expect(files().completeUpload(uploadId)).rejects.toThrow(NotFoundError)
    expect(await listed(files())).toEqual([])
  })

  it('with a hash takes those bytes only', async () => {
    const { files } = world(engines)
    const sha256 = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
    const { uploadId, request } = await files().startUpload({ ...announced, sha256 })
    expect((await send(request, Buffer.from('hallo'))).status).toBe(400)
    await expect(files().completeUpload(uploadId)).rejects.toThrow(ConflictError)
    expect((await send(request, Buffer.from('hello'))).status).toBe(200)
    expect((await files().completeUpload(uploadId)).isNew).toBe(true)
  })

  it('may have 32 MiB, and no byte more', async () => {
    const { files } = world(engines)
    const bytes = Buffer.alloc(33_554_432, 1)
    const { uploadId, request } = await files().startUpload({
      ...announced,
      fromSandbox: true,
      sizeBytes: bytes.length,
    })
    expect((await send(request, bytes)).status).toBe(200)
    const { file } = await files().completeUpload(uploadId)
    expect((await contentOf(files(), file.id)).equals(bytes)).toBe(true)
    const more = files().startUpload({ ...announced, sizeBytes: bytes.length + 1 })
    await expect(more).rejects.toThrow(PayloadTooLargeError)
  })

  it.each([-1, 1.5, Number.NaN])('of %d bytes is refused', async (sizeBytes) => {
    const upload = world(engines)
      .files()
      .startUpload({ ...announced, sizeBytes })
    await expect(upload).rejects.toMatchObject({ status: 400, field: 'size_bytes' })
  })
})

describe('a list', () => {
  it('has the user\u2019s files and the app\u2019s, the newest first, in pages of any size', async () => {
    const { files, clock } = world(engines)
    const made: string[] = []
    for (let index = 0; index < 25; index++) {
      const scope = index % 3 === 0 ? 'app' : 'user'
      made.unshift((await files(index % 3 === 0 ? 'bob' : 'ann').create(newFile({ scope }))).id)
      // Some have the time of the one before.
      clock.now += index % 2
      await files('bob').create(newFile())
    }
    for (const limit of [1, 2, 7, 24, 25, 100]) expect(await listed(files('ann'), limit), String(limit)).toEqual(made)
    expect((await files('ann').list()).files).toHaveLength(20)
    expect((await files('ann').list({ limit: 25 })).nextPage).toBeNull()
  })

  it('has full pages, whatever has expired in between', async () => {
    const { files, clock } = world(engines)
    const kept: string[] = []
    for (let index = 0; index < 60; index++) {
      clock.now += 1
      const stays = index % 10 === 0
      const { id } = await files().create(newFile({ expiresInSeconds: stays ? 7_200 : 3_600 }))
      if (stays) kept.unshift(id)
    }
    clock.now += HOUR
    expect((await files().list({ limit: 5 })).files.map(({ id }) => id)).toEqual(kept.slice(0, 5))
    expect(await listed(files(), 4)).toEqual(kept)
  })

  it('takes two reads, however many files others have', async () => {
    const { files } = world(engines)
    for (let index = 0; index < 30; index++) {
      await files('bob').create(newFile())
      await files('ann').create(newFile({ scope: index % 2 ? 'app' : 'user' }))
    }
    using queries = injectFaults(engines.dynamodb, 'Query', [])
    using gets = injectFaults(engines.dynamodb, 'GetItem', [])
    using batches = injectFaults(engines.dynamodb, 'BatchGetItem', [])
    const { files: page } = await files('ann').list({ limit: 20 })
    expect(page).toHaveLength(20)
    expect(queries.seen + gets.seen + batches.seen).toBe(2)
  })

  it.each([0, 101, 1.5, -1, Number.NaN])('of %d is refused', async (limit) => {
    await expect(world(engines).files().list({ limit })).rejects.toMatchObject({ status: 400, field: 'limit' })
  })

  it.each(['', 'x', 'AAAA', Buffer.from('000#x').toString('base64url')])('does not take the page %j', async (page) => {
    await expect(world(engines).files().list({ page })).rejects.toMatchObject({ status: 400, field: 'page' })
  })
})

it('the owner of the app is a user like none that a token names', async () => {
  const { files, scope } = world(engines)
  const owner = createFileStore({ ...engines, scope, user: APP_OWNER })
  const { id } = await owner.create(newFile())
  for (const user of [APP_OWNER, `user:${APP_OWNER}`, 'app']) {
    await expect(files(user).get(id)).rejects.toThrow(NotFoundError)
    expect(await listed(files(user))).toEqual([])
  }
  expect(await listed(owner)).toEqual([id])
})

it.each(['', '.', 'x'.repeat(201), 'file_#', 'file_\u00e9', '%2e', 'f#x'])('no file has the id %j', async (id) => {
  const { files } = world(engines)
  for (const refused of [files().get(id), files().open(id), files().delete(id)]) {
    await expect(refused).rejects.toEqual(new NotFoundError('There is no such file.'))
  }
})
