import { startS3 } from '../../../local/s3/index.ts'

// A server in a process of its own, which a test can kill: `node killed-server.ts FOLDER BUCKET`.
const [, , dir = '', bucket = ''] = process.argv
const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' }
const { endpoint } = await startS3({ dir, credentials, buckets: [bucket] })
process.stdout.write(`${endpoint}\n`)
