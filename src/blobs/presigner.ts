import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl, S3RequestPresigner } from '@aws-sdk/s3-request-presigner'
import { HttpRequest } from '@smithy/protocol-http'

type PresignOptions = NonNullable<Parameters<S3RequestPresigner['presign']>[1]>

export interface ObjectRequest {
  method: 'GET' | 'PUT'
  /** Of characters that stand in a URL as they are. */
  objectKey: string
  headers: Record<string, string>
  query: Record<string, string>
}

interface Presigning {
  presign(request: ObjectRequest, options: PresignOptions): Promise<string>
}

const known = new WeakMap<S3Client, Map<string, Promise<Presigning>>>()

/**
 * What signs requests to a bucket. The SDK says where the bucket is and for which region to sign, once for each client
 * and bucket; to ask it for each request would take five times as long as the signature.
 */
export function presigningTo(s3: S3Client, bucketName: string): Promise<Presigning> {
  const ofClient = known.get(s3) ?? new Map<string, Promise<Presigning>>()
  known.set(s3, ofClient)
  const presigning = ofClient.get(bucketName) ?? create(s3, bucketName)
  ofClient.set(bucketName, presigning)
  // A failure, such as credentials that cannot be had now, is not for ever.
  presigning.catch(() => ofClient.delete(bucketName))
  return presigning
}

const SAMPLE_KEY = 'object'

async function create(s3: S3Client, bucketName: string): Promise<Presigning> {
  const sample = new URL(await getSignedUrl(s3, new HeadObjectCommand({ Bucket: bucketName, Key: SAMPLE_KEY })))
  const [, , signingRegion] = (sample.searchParams.get('X-Amz-Credential') ?? '').split('/')
  if (signingRegion === undefined) throw new Error('The SDK signed no region.')
  const { protocol, hostname, port, host, pathname } = sample
  const root = pathname.slice(0, -SAMPLE_KEY.length)
  const presigner = new S3RequestPresigner({ ...s3.config, region: signingRegion })
  return {
    async presign({ method, objectKey, headers, query }, options) {
      const request = new HttpRequest({
        method,
        protocol,
        hostname,
        ...(port !== '' && { port: Number(port) }),
        path: root + objectKey,
        query,
        headers: { ...headers, host },
      })
      const { path, query: signed } = await presigner.presign(request, { ...options, signingRegion })
      const parameters = Object.entries(signed ?? {}).map(
        ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`,
      )
      return `${protocol}//${host}${path}?${parameters.join('&')}`
    },
  }
}
