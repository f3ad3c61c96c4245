import { startLocalStack } from '../local/index.ts'
import { type StackUse, startMetered } from '../test/support/stack-meter.ts'

/** Runs a local stack for a benchmark in the parent process, and counts what it is asked. */

/** What was asked since the last time. */
export type RequestCounts = StackUse

/** What a process is told that begins one. */
export interface StackAddresses {
  url: string
  apiKey: string
  s3Endpoint: string
  bucketName: string
  credentials: { accessKeyId: string; secretAccessKey: string }
}

/** Requests to S3 of its users: presigned ones, and those of other programs that keep something in the bucket. */
const isOutside = (url: string) => /X-Amz-Signature=|\bpeer-/.test(url)

const { stack, take } = await startMetered(
  () => startLocalStack({ onError: (error) => console.error(error) }),
  isOutside,
)
process.on('message', () => process.send?.(take()))
process.on('disconnect', () => process.exit())
const { url, apiKey, s3Endpoint, bucketName, credentials } = stack
process.send?.({ url, apiKey, s3Endpoint, bucketName, credentials } satisfies StackAddresses)
