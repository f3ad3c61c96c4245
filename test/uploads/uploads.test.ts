import { createHash } from 'node:crypto'
import { DeleteObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, describe, expect } from 'vitest'
import { Table } from '../../src/table/table.ts'
import { createUploads, removeOldUploads } from '../../src/uploads/uploads.ts'
import { check } from '../store/support/check.ts'
import { send } from '../store/support/send.ts'
import { startEngines } from '../support/engines.ts'

const engines = await startEngines()
afterAll(engines.stop)

const HOUR_MS = 3_600_000
const bytes = Buffer.from('some bytes')
const sha256 = createHash('sha256').update(bytes).digest('hex')

function fresh() {
  const scope = engines.freshScope()
  const clock = { now: Date.now() }
  const uploads = createUploads({ ...engines, scope, now: () => clock.now })
  const table = new Table(engines.dynamodb, engines.tableName)
  const upload = {
    purpose: 'artifact',
    target: 'what for',
    objectKey: `projects/${scope.tenant}/${scope.project}/o`,
    sizeBytes: bytes.length,
    contentType: 'text/x-test; charset=utf-8',
    by: 'user:me',
  }
  return { scope, clock, uploads, table, upload }
}

describe('an upload', () => {
  check('counts once its bytes are there, with their hash known or not', async () => {
    for (const known of [sha256, undefined]) {
      const { uploads, upload } = fresh()
      const { uploadId, request } = await uploads.start({ ...upload, sha256: known })
      const record = await uploads.open(uploadId, 'artifact')
      if (!record) throw new Error('The upload must be open.')
      expect(record).toMatchObject({ ...upload, uploadId })
      expect(await uploads.verify(record)).toBeNull()
      expect((await send(request, bytes)).status).toBe(200)
      expect(await uploads.verify(record)).toEqual({ sha256 })
      // The object never changes.
      expect((await send(request, bytes)).status).toBe(412)
    }
  })

  check('may be of no bytes', async () => {
    const { uploads, upload } = fresh()
    const { uploadId, request } = await uploads.start({ ...upload, sizeBytes: 0 })
    expect((await send(request)).status).toBe(200)
    const record = await uploads.open(uploadId, 'artifact')
    expect(record && (await uploads.verify(record))).toEqual({ sha256: createHash('sha256').digest('hex') })
  })

  check('takes no bytes of another hash', async () => {
    const { uploads, upload } = fresh()
    const other = createHash('sha256').update('other').digest('hex')
    const { uploadId, request } = await uploads.start({ ...upload, sha256: other })
    const { status } = await send(request, bytes)
    const record = await uploads.open(uploadId, 'artifact')
    if (process.env.SANDKEEP_ENGINE !== 'moto') expect(status).toBe(400)
    expect(record && (await uploads.verify(record))).toBeNull()
  })

  check('is known for its purpose, in its scope, and for 12 hours', async () => {
    const { uploads, upload, clock } = fresh()
    const { uploadId } = await uploads.start(upload)
    expect(await uploads.open(uploadId, 'file')).toBeNull()
    expect(await fresh().uploads.open(uploadId, 'artifact')).toBeNull()
    for (const unknown of ['', 'x', '\0', '00000000-0000-0000-0000-000000000000', 'x'.repeat(5_000)]) {
      expect(await uploads.open(unknown, 'artifact')).toBeNull()
    }
    clock.now += 12 * HOUR_MS - 1
    expect(await uploads.open(uploadId, 'artifact')).not.toBeNull()
    clock.now += 1
    expect(await uploads.open(uploadId, 'artifact')).toBeNull()
  })

  check('is completed once, and keeps what it came to', async () => {
    const { uploads, upload, table } = fresh()
    const { uploadId } = await uploads.start(upload)
    const record = await uploads.open(uploadId, 'artifact')
    if (!record) throw new Error('The upload must be open.')
    expect(await table.transact([uploads.completion(record, 'first')], 'one')).toEqual({ done: true })
    expect(await table.transact([uploads.completion(record, 'second')], 'two')).toMatchObject({ done: false })
    expect(await uploads.open(uploadId, 'artifact')).toMatchObject({ result: 'first' })
    await engines.s3.send(new DeleteObjectCommand({ Bucket: engines.bucketName, Key: upload.objectKey }))
    expect(await uploads.verify(record)).toBeNull()
  })

  check('that is old is removed', async () => {
    const { uploads, upload, table, scope, clock } = fresh()
    await uploads.start(upload)
    clock.now += 24 * HOUR_MS
    const { uploadId } = await uploads.start(upload)
    expect(await removeOldUploads(table, scope, clock.now + 24 * HOUR_MS)).toBe(1)
    expect(await uploads.open(uploadId, 'artifact')).not.toBeNull()
  })
})
