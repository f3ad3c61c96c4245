import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type CorsRule,
  HttpMethods,
  ObjectOwnership,
} from 'aws-cdk-lib/aws-s3'
import type { Construct } from 'constructs'
import { OBJECT_PREFIXES } from '../src/blobs/object-keys.ts'
import { acknowledge } from './acknowledge.ts'

export interface SandkeepBucketProps {
  /** DESTROY also empties the bucket when the stack is deleted. */
  readonly removalPolicy: RemovalPolicy
  /** Whose pages may send presigned uploads, and read presigned downloads. */
  readonly corsOrigins: readonly string[]
  /** @default S3's own */
  readonly encryptionKey?: IKey | undefined
}

/** The one bucket of all services: private, over TLS only. */
export class SandkeepBucket extends Bucket {
  constructor(scope: Construct, id: string, props: SandkeepBucketProps) {
    super(scope, id, {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      ...(props.encryptionKey
        ? { encryption: BucketEncryption.KMS, encryptionKey: props.encryptionKey, bucketKeyEnabled: true }
        : { encryption: BucketEncryption.S3_MANAGED }),
      enforceSSL: true,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      // The sweep deletes versions, so that a delete which arrives late finds nothing newer.
      versioned: true,
      lifecycleRules: [
        { id: 'abort-incomplete-uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
        // Blobs and bodies have no such rule: their age says nothing about their use.
        {
          id: 'expire-staging',
          prefix: OBJECT_PREFIXES.staging,
          expiration: Duration.days(1),
          noncurrentVersionExpiration: Duration.days(1),
        },
        // A body that was deleted is of no use to anyone. Old versions of blobs are the sweep's.
        {
          id: 'expire-deleted-bodies',
          prefix: OBJECT_PREFIXES.bodies,
          noncurrentVersionExpiration: Duration.days(1),
          expiredObjectDeleteMarker: true,
        },
        // A task is kept by its last write, which says nothing about the age of its objects.
        {
          id: 'expire-deleted-memory',
          prefix: OBJECT_PREFIXES.projects,
          noncurrentVersionExpiration: Duration.days(1),
          expiredObjectDeleteMarker: true,
        },
        {
          id: 'expire-deleted-files',
          prefix: OBJECT_PREFIXES.files,
          noncurrentVersionExpiration: Duration.days(1),
          expiredObjectDeleteMarker: true,
        },
        {
          id: 'expire-deleted-bundles',
          prefix: OBJECT_PREFIXES.bundles,
          noncurrentVersionExpiration: Duration.days(1),
          expiredObjectDeleteMarker: true,
        },
      ],
      ...(props.corsOrigins.length > 0 && { cors: corsRules(props.corsOrigins) }),
      removalPolicy: props.removalPolicy,
      autoDeleteObjects: props.removalPolicy === RemovalPolicy.DESTROY,
    })
    acknowledge(this, {
      'AwsSolutions-S1':
        'Every access is by a function or a request that one signed, and stands in the log of the API. Access logs would cost more than what they tell.',
    })
  }
}

/** Only who holds a presigned request gets anything, whatever page it is sent from. */
function corsRules(origins: readonly string[]): CorsRule[] {
  return [
    { allowedMethods: [HttpMethods.PUT], allowedOrigins: [...origins], allowedHeaders: ['*'], maxAge: CORS_MAX_AGE },
    {
      allowedMethods: [HttpMethods.GET, HttpMethods.HEAD],
      // A browser that follows a redirect from the API to here says that the origin is null.
      allowedOrigins: ['*'],
      allowedHeaders: ['*'],
      exposedHeaders: EXPOSED_HEADERS,
      maxAge: CORS_MAX_AGE,
    },
  ]
}

const CORS_MAX_AGE = 7_200

/** What pages may read of a download's headers. */
export const EXPOSED_HEADERS = ['content-disposition', 'content-length', 'content-type', 'etag']
