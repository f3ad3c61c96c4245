import { randomUUID } from 'node:crypto'
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteBucketCorsCommand,
  DeleteBucketLifecycleCommand,
  GetBucketCorsCommand,
  GetBucketEncryptionCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketLocationCommand,
  GetBucketVersioningCommand,
  GetPublicAccessBlockCommand,
  HeadBucketCommand,
  type LifecycleRule,
  ListBucketsCommand,
  PutBucketCorsCommand,
  PutBucketEncryptionCommand,
  PutBucketLifecycleConfigurationCommand,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
} from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import { startS3 } from '../../../local/s3/index.ts'
import { check, describeS3, sendSigned, sendTo } from './engine.ts'

describeS3('buckets', (engine) => {
  const create = async () => {
    const Bucket = `suite-${randomUUID()}`
    await engine().s3.send(new CreateBucketCommand({ Bucket }))
    return Bucket
  }
  const refused = (promise: Promise<unknown>, status: number, name?: string) =>
    expect(promise).rejects.toMatchObject({ $metadata: { httpStatusCode: status }, ...(name && { name }) })

  check('a bucket is created once, listed, and deleted when it is empty', async () => {
    const Bucket = await create()
    await engine().s3.send(new HeadBucketCommand({ Bucket }))
    await engine().s3.send(new CreateBucketCommand({ Bucket }))
    const listed = await engine().s3.send(new ListBucketsCommand({}))
    expect(listed.Buckets?.map((bucket) => bucket.Name)).toContain(Bucket)
    await engine().s3.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x' }))
    await refused(engine().s3.send(new DeleteBucketCommand({ Bucket })), 409, 'BucketNotEmpty')
    await sendSigned(engine(), { method: 'DELETE', path: `/${Bucket}/k` })
    await engine().s3.send(new DeleteBucketCommand({ Bucket }))
    await refused(engine().s3.send(new HeadBucketCommand({ Bucket })), 404)
  })

  check('names that DNS would not take are refused', async () => {
    for (const name of ['UPPER', 'a', 'a_b_c', 'a..b', '192.168.0.1', '-abc', `x${'y'.repeat(63)}`]) {
      const answer = await sendSigned(engine(), { method: 'PUT', path: `/${name}` })
      expect(answer).toMatchObject({ status: 400, code: 'InvalidBucketName' })
    }
  })

  check('the location is that of the endpoint', async () => {
    const { LocationConstraint } = await engine().s3.send(new GetBucketLocationCommand({ Bucket: engine().bucket }))
    expect(LocationConstraint ?? '').toBe('')
  })

  check('a new bucket keeps no versions', async () => {
    const Bucket = await create()
    expect((await engine().s3.send(new GetBucketVersioningCommand({ Bucket }))).Status).toBeUndefined()
  })

  const putLifecycle = (Bucket: string, Rules: LifecycleRule[]) =>
    engine().s3.send(new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: { Rules } }))

  check('lifecycle rules are kept until they are deleted', async () => {
    const Bucket = await create()
    const get = () => engine().s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))
    await refused(get(), 404, 'NoSuchLifecycleConfiguration')
    await putLifecycle(Bucket, [
      {
        ID: 'staging',
        Status: 'Enabled',
        Filter: { Prefix: 'staging/' },
        Expiration: { Days: 1 },
        AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
      },
      { ID: 'marked', Status: 'Disabled', Filter: { Tag: { Key: 'state', Value: 'gone' } }, Expiration: { Days: 30 } },
    ])
    const { Rules } = await get()
    expect(Rules).toMatchObject([
      {
        ID: 'staging',
        Filter: { Prefix: 'staging/' },
        Expiration: { Days: 1 },
        AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
      },
      { ID: 'marked', Status: 'Disabled', Filter: { Tag: { Key: 'state', Value: 'gone' } }, Expiration: { Days: 30 } },
    ])
    await engine().s3.send(new DeleteBucketLifecycleCommand({ Bucket }))
    await refused(get(), 404, 'NoSuchLifecycleConfiguration')
  })

  check('lifecycle rules of less than a day, or twice the same, are refused', async () => {
    const rule = { Status: 'Enabled', Filter: { Prefix: '' } } as const
    await refused(putLifecycle(engine().bucket, [{ ...rule, Expiration: { Days: 0 } }]), 400, 'InvalidArgument')
    const twice = { ...rule, ID: 'same', Expiration: { Days: 1 } }
    await refused(putLifecycle(engine().bucket, [twice, twice]), 400, 'InvalidArgument')
  })

  check('encryption and the public access block come back', async () => {
    const Bucket = await create()
    const initial = await engine().s3.send(new GetBucketEncryptionCommand({ Bucket }))
    expect(initial.ServerSideEncryptionConfiguration?.Rules?.[0]?.ApplyServerSideEncryptionByDefault).toMatchObject({
      SSEAlgorithm: 'AES256',
    })
    await engine().s3.send(
      new PutBucketEncryptionCommand({
        Bucket,
        ServerSideEncryptionConfiguration: {
          Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms' } }],
        },
      }),
    )
    const changed = await engine().s3.send(new GetBucketEncryptionCommand({ Bucket }))
    expect(changed.ServerSideEncryptionConfiguration?.Rules?.[0]?.ApplyServerSideEncryptionByDefault).toMatchObject({
      SSEAlgorithm: 'aws:kms',
    })
    const PublicAccessBlockConfiguration = { BlockPublicAcls: true, RestrictPublicBuckets: false }
    await engine().s3.send(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration }))
    const block = await engine().s3.send(new GetPublicAccessBlockCommand({ Bucket }))
    expect(block.PublicAccessBlockConfiguration).toMatchObject(PublicAccessBlockConfiguration)
  })

  const allow = (Bucket: string) =>
    engine().s3.send(
      new PutBucketCorsCommand({
        Bucket,
        CORSConfiguration: {
          CORSRules: [
            {
              AllowedMethods: ['PUT', 'GET'],
              AllowedOrigins: ['https://*.example.com'],
              AllowedHeaders: ['x-amz-*', 'content-type'],
              ExposeHeaders: ['ETag'],
              MaxAgeSeconds: 300,
            },
          ],
        },
      }),
    )
  check('CORS rules that no answer could carry are refused', async () => {
    const rule = { AllowedMethods: ['GET'], AllowedOrigins: ['*'] }
    const put = (extra: object) =>
      engine().s3.send(
        new PutBucketCorsCommand({
          Bucket: engine().bucket,
          CORSConfiguration: { CORSRules: [{ ...rule, ...extra }] },
        }),
      )
    await refused(put({ AllowedMethods: ['PATCH'] }), 400, 'InvalidRequest')
    await refused(put({ ExposeHeaders: ['a: b'] }), 400, 'InvalidRequest')
  })

  const preflight = (bucket: string, method: string, headers: Record<string, string> = {}) =>
    sendTo(`${engine().endpoint}/${bucket}/k`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example.com', 'access-control-request-method': method, ...headers },
    })

  check('CORS rules are kept until they are deleted', async () => {
    const Bucket = await create()
    const get = () => engine().s3.send(new GetBucketCorsCommand({ Bucket }))
    await refused(get(), 404, 'NoSuchCORSConfiguration')
    await allow(Bucket)
    expect((await get()).CORSRules).toMatchObject([{ AllowedMethods: ['PUT', 'GET'], MaxAgeSeconds: 300 }])
    await engine().s3.send(new DeleteBucketCorsCommand({ Bucket }))
    await refused(get(), 404, 'NoSuchCORSConfiguration')
  })

  check('a preflight request is answered by the rules', async () => {
    const Bucket = await create()
    await allow(Bucket)
    const answer = await preflight(Bucket, 'PUT', {
      'access-control-request-headers': 'Content-Type, x-amz-checksum-sha256',
    })
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'access-control-allow-origin': 'https://app.example.com',
        'access-control-allow-methods': 'PUT, GET',
        'access-control-allow-headers': 'content-type, x-amz-checksum-sha256',
        'access-control-expose-headers': 'ETag',
        'access-control-max-age': '300',
      },
    })
  })

  check('a preflight request that no rule allows is refused', async () => {
    const Bucket = await create()
    expect(await preflight(Bucket, 'PUT')).toMatchObject({ status: 403, code: 'AccessForbidden' })
    await allow(Bucket)
    const refusals = [
      preflight(Bucket, 'DELETE'),
      preflight(Bucket, 'PUT', { origin: 'https://example.org' }),
      preflight(Bucket, 'PUT', { origin: Buffer.from('https://報.example.com').toString('latin1') }),
      preflight(Bucket, 'PUT', { 'access-control-request-headers': 'authorization' }),
    ]
    for (const answer of await Promise.all(refusals)) {
      expect(answer).toMatchObject({ status: 403, code: 'AccessForbidden' })
      expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    }
  })

  check('an answer tells the page of an allowed origin that it may read', async () => {
    const Bucket = await create()
    await allow(Bucket)
    const get = (origin: string) => sendSigned(engine(), { method: 'GET', path: `/${Bucket}/k`, headers: { origin } })
    const allowed = await get('https://app.example.com')
    expect(allowed.headers['access-control-allow-origin']).toBe('https://app.example.com')
    expect((await get('https://example.org')).headers['access-control-allow-origin']).toBeUndefined()
  })
})

test('what the embedded server has not is said so, not ignored', async () => {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' }
  const { endpoint, stop } = await startS3({ credentials, buckets: ['limited'] })
  try {
    const engine = { endpoint, credentials, region: 'us-east-1' }
    for (const query of [{ policy: '' }, { replication: '' }, { website: '' }]) {
      const answer = await sendSigned(engine, { method: 'GET', path: '/limited', query })
      expect(answer).toMatchObject({ status: 501, code: 'NotImplemented' })
    }
    for (const header of ['x-amz-object-lock-mode', 'x-amz-server-side-encryption-customer-key']) {
      const answer = await sendSigned(engine, { method: 'PUT', path: '/limited/k', headers: { [header]: 'x' } })
      expect(answer).toMatchObject({ status: 501, code: 'NotImplemented' })
    }
  } finally {
    await stop()
  }
})
