import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { checkpoint } from '../http/support/checkpoint.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'

let stack: LocalStack
let client: SandkeepClient
beforeAll(async () => {
  stack = await startLocalStack({ port: 0 })
  client = createClient({ url: stack.url, apiKey: stack.apiKey, tenant: 'acme', project: 'web' })
})
afterAll(() => stack.stop())

it('keeps a checkpoint and its blob over real connections', async () => {
  const content = new Uint8Array(6_000_000).fill(3)
  const blobKey = `sandbox-files/sha256/${createHash('sha256').update(content).digest('hex')}`
  await client.blobs.put(blobKey, content)
  await client.blobs.put(`sandbox-files/sha256/${createHash('sha256').digest('hex')}`, new Uint8Array())
  const lease = await client.checkpoints.acquireWriter('t')
  const document = checkpoint('a', 't', {
    files: [{ path: 'x', kind: 'file', blobKey, size: content.length }],
    conversation: ['x'.repeat(12_000_000)],
  })
  await client.checkpoints.append({ checkpoint: document, expectedHeadId: null, writer: lease })
  await lease.release()
  expect(await client.checkpoints.get('a')).toStrictEqual(document)
  expect(await client.checkpoints.listBlobReferences()).toStrictEqual([{ key: blobKey, references: 1 }])
  const kept = await client.blobs.get(blobKey)
  expect(Buffer.from((await kept?.arrayBuffer()) ?? new ArrayBuffer()).equals(content)).toBe(true)
  await expect(client.blobs.delete(blobKey)).rejects.toMatchObject({ status: 409, code: 'blob_in_use' })
})

it('tells an unknown key and an unknown place apart', async () => {
  const options = { url: stack.url, apiKey: 'skp_unknown', tenant: 'acme', project: 'web' }
  await expect(createClient(options).checkpoints.getHead('t')).rejects.toMatchObject({
    status: 401,
    code: 'unauthenticated',
    requestId: expect.any(String),
  })
  const elsewhere = createClient({ ...options, url: `${stack.url}/nowhere` })
  await expect(elsewhere.checkpoints.getHead('t')).rejects.toMatchObject({ status: 404, code: 'not_found' })
})

it('names the host when nobody listens there', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  const url = `http://127.0.0.1:${port}`
  const nobody = createClient({ url, apiKey: 'k', tenant: 'a', project: 'b', timeoutMs: 50 })
  await expect(nobody.checkpoints.getHead('t')).rejects.toMatchObject({
    name: 'SandkeepNetworkError',
    sent: false,
    message: expect.stringMatching(/127\.0\.0\.1:\d+ \(ECONNREFUSED\).*Check/),
  })
})
