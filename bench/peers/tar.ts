import path from 'node:path'
import { runNode } from '../measured-process.ts'
import type { StackAddresses } from '../stack-process.ts'
import type { Contender } from './contender.ts'

const SCRIPT = path.join(import.meta.dirname, 'tar-process.js')

/** A script of a few lines: the folder as one tar archive, put and got as one object. `name`: of its folder in the bucket. */
export function tarScript({ s3Endpoint, bucketName, credentials }: StackAddresses, name: string): Contender {
  const run = async (what: string, file: string, folder = '') => {
    const env = {
      ENDPOINT: s3Endpoint,
      BUCKET: bucketName,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    }
    return (await runNode(SCRIPT, [what, `${name}/${file}.tar`, folder], { env })).ms
  }
  return {
    who: 'tar',
    prefixes: [name],
    first: (workspace) => run('put', 'first', workspace),
    again: (workspace) => run('put', 'again', workspace),
    restore: (target) => run('get', 'again', target),
    remove: () => run('delete', 'first'),
  }
}
