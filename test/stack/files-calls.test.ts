import { DeleteObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sandboxFiles } from '../../client/ai/index.ts'
import { type LocalGateway, startGateway } from '../../local/gateway/index.ts'
import { createHandlers, createStreamHandlers } from '../../local/handlers.ts'
import { synthesizeTemplate } from '../../local/template.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { CallRecorder, granted } from './recorder.ts'
import { synth } from './synth.ts'

let stack: LocalStack
let gateway: LocalGateway
let recorder: CallRecorder

beforeAll(async () => {
  stack = await startLocalStack()
  recorder = new CallRecorder(stack)
  const others = recorder.configOf('others')
  const { files } = createHandlers(recorder.configOf('files'))
  const { 'file-content': content } = createStreamHandlers(recorder.configOf('file-content'))
  gateway = await startGateway({
    template: synthesizeTemplate(),
    handlers: { ...createHandlers(others), ...(files && { files }) },
    streamHandlers: { ...createStreamHandlers(others), ...(content && { 'file-content': content }) },
  })
})

afterAll(async () => {
  await gateway.stop()
  recorder.stop()
  await stack.stop()
})

/** S3 says that an object is not there only to who may list the bucket. */
const MISSING_OBJECT = 'bucket s3:ListBucket'

test('the functions of files are granted the calls that they make, and no others', async () => {
  const env = {
    SANDBOX_GATEWAY_URL: gateway.url,
    SANDBOX_TENANT: 'acme',
    SANDBOX_PROJECT: 'demo',
    SANDBOX_API_KEY: stack.apiKey,
  }
  const files = sandboxFiles(env, { fetch: recorder.fetchFor('files') })
  const origin = 'sandbox'
  const small = await files.upload(new File(['hello'], 'a.txt'), { origin })
  const large = await files.upload(new File([new Uint8Array(4_200_000)], 'b.bin'), { origin })
  await files.list()
  await files.get(small.id)
  const reader = sandboxFiles(env, { fetch: recorder.fetchFor('file-content') })
  await (await reader.download(small.id)).arrayBuffer()
  await (await reader.download(large.id)).arrayBuffer()
  const { s3, bucketName } = recorder.configOf('others')
  await s3.send(new DeleteObjectCommand({ Bucket: bucketName, Key: `files/acme/demo/${small.id}` }))
  await expect(reader.download(small.id)).rejects.toMatchObject({ status: 404 })
  await files.delete(large.id)
  for (const service of ['files', 'file-content']) {
    const missed = [...new Set([...recorder.made(service), MISSING_OBJECT])].sort()
    expect(missed, service).toEqual(granted(synth(), service))
  }
})
