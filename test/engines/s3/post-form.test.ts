import { GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3'
import { createPresignedPost, type PresignedPostOptions } from '@aws-sdk/s3-presigned-post'
import { expect } from 'vitest'
import { check, describeS3, sha256 } from './engine.ts'

/** What a form's key holds in place of the file's name. */
const filenameMark = ['$', '{filename}'].join('')

describeS3('forms', (engine) => {
  const prepare = (options: Partial<PresignedPostOptions> = {}) =>
    createPresignedPost(engine().s3, {
      Bucket: engine().bucket,
      Key: `form/${filenameMark}`,
      Conditions: [
        ['content-length-range', 1, 100],
        ['starts-with', '$key', 'form/'],
      ],
      Expires: 60,
      ...options,
    })
  const post = async (
    options: Partial<PresignedPostOptions>,
    content: string,
    change: Record<string, string | undefined> = {},
    filename = 'up load.txt',
  ) => {
    const { url, fields } = await prepare(options)
    const form = new FormData()
    for (const [name, value] of Object.entries({ ...fields, ...change })) {
      if (value !== undefined) form.append(name, value)
    }
    form.append('file', new Blob([content]), filename)
    const answer = await fetch(url, { method: 'POST', body: form, redirect: 'manual' })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, code: /<Code>(.*?)<\/Code>/.exec(text)?.[1] }
  }
  const read = async (Key: string) =>
    (await engine().s3.send(new GetObjectCommand({ Bucket: engine().bucket, Key }))).Body?.transformToString()
  const missing = (key: string) => expect(read(key)).rejects.toMatchObject({ name: 'NoSuchKey' })

  check('a form uploads a file under its own name', async () => {
    const answer = await post({}, 'hello')
    expect(answer.status).toBe(204)
    expect(await read('form/up load.txt')).toBe('hello')
  })

  check('the name may hold what a replacement would take for its own', async () => {
    await post({}, 'odd', {}, '$&-報告.txt')
    expect(await read('form/$&-報告.txt')).toBe('odd')
  })

  check('the limits of the size hold at both ends', async () => {
    const limits = { Key: 'form/limits' }
    expect(await post(limits, 'x'.repeat(101))).toMatchObject({ status: 400, code: 'EntityTooLarge' })
    expect(await post(limits, '')).toMatchObject({ status: 400, code: 'EntityTooSmall' })
    await missing('form/limits')
    expect(await post(limits, 'x'.repeat(100))).toMatchObject({ status: 204 })
    expect(await post(limits, 'x')).toMatchObject({ status: 204 })
  })

  check('a file that is far too large is refused', async () => {
    const answer = await post({ Key: 'form/far' }, 'x'.repeat(3_000_000))
    expect(answer).toMatchObject({ status: 400, code: 'EntityTooLarge' })
    await missing('form/far')
  })

  check('a field outside the policy is refused', async () => {
    expect(await post({}, 'hi', { key: 'elsewhere/x' })).toMatchObject({ status: 403, code: 'AccessDenied' })
    await missing('elsewhere/x')
    expect(await post({ Key: 'form/extra' }, 'hi', { 'x-amz-meta-extra': '1' })).toMatchObject({
      status: 403,
      code: 'AccessDenied',
    })
    await missing('form/extra')
  })

  check('a field that the policy fixes must be there as it is', async () => {
    const options = { Key: 'form/fixed', Fields: { 'Content-Type': 'text/css' } }
    expect(await post(options, 'hi', { 'Content-Type': 'text/html' })).toMatchObject({ status: 403 })
    expect(await post(options, 'hi', { 'Content-Type': undefined })).toMatchObject({ status: 403 })
    await missing('form/fixed')
  })

  check('metadata and type are kept', async () => {
    const Fields = { 'x-amz-meta-turn': '7', 'Content-Type': 'text/css' }
    expect((await post({ Key: 'form/meta', Fields }, 'hi')).status).toBe(204)
    const told = await engine().s3.send(new HeadObjectCommand({ Bucket: engine().bucket, Key: 'form/meta' }))
    expect(told).toMatchObject({ Metadata: { turn: '7' }, ContentType: 'text/css' })
  })

  check('metadata that no header could name is refused', async () => {
    const answer = await post({ Key: 'form/unnamed', Fields: { 'x-amz-meta-ü n': '7' } }, 'hi')
    expect(answer).toMatchObject({ status: 400, code: 'InvalidArgument' })
    await missing('form/unnamed')
  })

  check('a checksum of the file is verified', async () => {
    const options = { Key: 'form/checksum', Fields: { 'x-amz-checksum-sha256': sha256('good') } }
    expect(await post(options, 'evil')).toMatchObject({ status: 400, code: 'BadDigest' })
    await missing('form/checksum')
    expect((await post(options, 'good')).status).toBe(204)
  })

  check('an expired policy is refused', async () => {
    const answer = await post({ Key: 'form/expired', Expires: -1 }, 'hi')
    expect(answer).toMatchObject({ status: 403, code: 'AccessDenied' })
    await missing('form/expired')
  })

  check('a policy that was changed after it was signed is refused', async () => {
    const { fields } = await prepare({ Key: 'form/forged' })
    const policy = JSON.parse(Buffer.from(fields.Policy ?? '', 'base64').toString())
    policy.conditions = [{ bucket: engine().bucket }]
    const Policy = Buffer.from(JSON.stringify(policy)).toString('base64')
    expect(await post({ Key: 'form/forged' }, 'hi', { Policy })).toMatchObject({
      status: 403,
      code: 'SignatureDoesNotMatch',
    })
    await missing('form/forged')
  })

  check('a form without a policy, a signature or a known key is refused', async () => {
    const changes: Array<[Record<string, string | undefined>, number]> = [
      [{ Policy: undefined }, 403],
      [{ 'X-Amz-Signature': undefined }, 400],
      [{ 'X-Amz-Credential': 'nobody/20300101/us-east-1/s3/aws4_request' }, 403],
    ]
    for (const [change, status] of changes) {
      expect((await post({ Key: 'form/unsigned' }, 'hi', change)).status).toBe(status)
    }
    await missing('form/unsigned')
  })

  check('the answer has the status that the form asks for', async () => {
    const status = (value: string) => post({ Key: 'form/status', Fields: { success_action_status: value } }, 'hi')
    const ok = await status('200')
    expect(ok.status).toBe(200)
    expect(ok.headers.get('etag')).toBe('"49f68a5c8493ec2c0bf489821c21fc3b"')
    const created = await status('201')
    expect(created.status).toBe(201)
    expect(created.text).toContain('<Key>form/status</Key>')
    const redirected = await post(
      { Key: 'form/status', Fields: { success_action_redirect: 'http://localhost:1/done?a=b' } },
      'hi',
    )
    expect(redirected.status).toBe(303)
    const target = new URL(redirected.headers.get('location') ?? '')
    expect(Object.fromEntries(target.searchParams)).toMatchObject({ a: 'b', key: 'form/status' })
  })

  check('a form without a file, or cut off, is refused', async () => {
    const { url, fields } = await prepare({ Key: 'form/cut' })
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(400)
    const boundary = 'b0undary'
    const parts = Object.entries({ ...fields }).map(
      ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nbytes without an end`
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: parts.join('') + file,
    })
    expect(answer.status).toBe(400)
    await missing('form/cut')
  })
})
