import { GetObjectCommand, PutObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { describe, expect, test } from 'vitest'
import { presignGet, presignPut } from '../../src/blobs/presign.ts'

const credentials = { accessKeyId: 'key', secretAccessKey: 'secret', sessionToken: 'to/k+en=' }
const objectKey = 'blobs/acme/demo/sandbox-files/sha256/00'

/** What a URL says apart from the time and the signature. */
function partsOf(text: string) {
  const { origin, pathname, searchParams } = new URL(text)
  const value = (name: string) => searchParams.get(`X-Amz-${name}`)
  return {
    place: origin + pathname,
    scope: value('Credential')?.replace(/\/\d{8}\//, '/DATE/'),
    token: value('Security-Token'),
    headers: value('SignedHeaders'),
    expires: value('Expires'),
    algorithm: value('Algorithm'),
    content: value('Content-Sha256'),
  }
}

describe('a presigned request is to the place, and in the scope, that the SDK would sign for', () => {
  const clients: Record<string, S3ClientConfig> = {
    'a bucket of AWS': { region: 'eu-central-1' },
    'a bucket in us-east-1': { region: 'us-east-1' },
    'dual stack': { region: 'us-west-2', useDualstackEndpoint: true },
    'an endpoint with paths': { region: 'us-east-1', endpoint: 'http://127.0.0.1:9000', forcePathStyle: true },
    'an endpoint beneath a path': { region: 'us-east-1', endpoint: 'https://s3.test/base', forcePathStyle: true },
  }
  for (const [name, config] of Object.entries(clients)) {
    const s3 = new S3Client({ ...config, credentials, requestChecksumCalculation: 'WHEN_REQUIRED' })

    test(`${name}: GET`, async () => {
      const command = new GetObjectCommand({ Bucket: 'my-bucket', Key: objectKey, ResponseContentType: 'text/plain' })
      const expected = await getSignedUrl(s3, command, { expiresIn: 900 })
      const input = { s3, bucketName: 'my-bucket', objectKey, responseContentType: 'text/plain' }
      const { url, headers } = await presignGet(input)
      expect(partsOf(url)).toEqual(partsOf(expected))
      expect(new URL(url).searchParams.get('response-content-type')).toBe('text/plain')
      expect(headers).toEqual({})
    })

    test(`${name}: PUT`, async () => {
      const command = new PutObjectCommand({ Bucket: 'my-bucket', Key: objectKey, IfNoneMatch: '*', ContentLength: 1 })
      const expected = partsOf(await getSignedUrl(s3, command, { expiresIn: 900 }))
      const sha256Hex = '00'.repeat(32)
      const input = { s3, bucketName: 'my-bucket', objectKey, size: 1, sha256Hex, ifNoneMatch: '*' as const }
      const signed = 'content-length;content-type;host;if-none-match;x-amz-checksum-sha256'
      expect(partsOf((await presignPut(input)).url)).toEqual({ ...expected, headers: signed })
    })
  }
})
