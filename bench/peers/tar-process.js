// Saves a folder as one object, restores it, or deletes the object: tar, and one request to S3.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { pipeline } from 'node:stream/promises'
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'

const [what, Key, folder] = process.argv.slice(2)
const { ENDPOINT: endpoint, BUCKET: Bucket } = process.env
const s3 = new S3Client({
  endpoint,
  region: 'us-east-1',
  forcePathStyle: true,
  requestChecksumCalculation: 'WHEN_REQUIRED',
})

async function ended(child) {
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`tar ended with ${code}`)
}

if (what === 'put') {
  const temporary = await mkdtemp(path.join(tmpdir(), 'sandkeep-tar-'))
  const archive = path.join(temporary, 'archive.tar')
  await ended(spawn('tar', ['-cf', archive, '-C', folder, '.'], { stdio: 'inherit' }))
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: createReadStream(archive) }))
  await rm(temporary, { recursive: true })
} else if (what === 'get') {
  await mkdir(folder, { recursive: true })
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
  const tar = spawn('tar', ['-xf', '-', '-C', folder], { stdio: ['pipe', 'inherit', 'inherit'] })
  await Promise.all([pipeline(Body, tar.stdin), ended(tar)])
} else {
  await s3.send(new DeleteObjectCommand({ Bucket, Key }))
}
