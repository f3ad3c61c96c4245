import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')

/** What pages show in place of the folder that a sample's folder is in. */
export const HOME = '/home/me'

/** Where samples run, beside the folder that they run in. */
export interface ShellWorld {
  /** Has the commands that samples use. */
  bin: string
  /** Samples find this as their environment. */
  env: Record<string, string>
}

/** What a deployment says of itself: a LocalStack has it. */
export interface Deployment {
  url: string
  apiKey: string
  region: string
  tableName: string
  bucketName: string
  dynamodbEndpoint: string
  s3Endpoint: string
  credentials: { accessKeyId: string; secretAccessKey: string }
}

/** Makes, in an empty folder, what the samples need to use a deployment with the `sandkeep` of these sources. */
export function makeShellWorld(folder: string, deployment: Deployment): ShellWorld {
  const bin = path.join(folder, 'bin')
  for (const name of ['bin', 'home', 'tmp']) mkdirSync(path.join(folder, name))
  const script = (name: string, text: string) => {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`)
    chmodSync(path.join(bin, name), 0o755)
  }
  // A refusal of the API is a failure of the sample.
  writeFileSync(path.join(folder, 'home', '.curlrc'), 'fail-with-body\n')
  script('sandkeep', `exec "${process.execPath}" "${ROOT}/cli/main.ts" "$@"`)
  script('npx', 'test "$1" = sandkeep || { echo "npx: only sandkeep is here, not $1" >&2; exit 1; }\nexec "$@"')
  // Stands for an agent.
  script('claude', 'echo "$2" >> prompts.txt')
  const { url, apiKey, region, tableName, bucketName, dynamodbEndpoint, s3Endpoint, credentials } = deployment
  return {
    bin,
    env: {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: path.join(folder, 'home'),
      TMPDIR: path.join(folder, 'tmp'),
      TZ: 'UTC',
      NODE_COMPILE_CACHE: path.join(folder, 'cache'),
      SANDBOX_GATEWAY_URL: url,
      SANDBOX_API_KEY: apiKey,
      SANDBOX_TENANT: 'acme',
      SANDBOX_PROJECT: 'site',
      TABLE: tableName,
      REGION: region,
      BUCKET: bucketName,
      AWS_REGION: region,
      AWS_ENDPOINT_URL_DYNAMODB: dynamodbEndpoint,
      AWS_ENDPOINT_URL_S3: s3Endpoint,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
  }
}

/** Parts of one script: what runs, and whether it may fail. */
export interface ShellPart {
  command: string
  /** What comes of it is judged by its output. */
  mayFail: boolean
}

/** Stands behind the output of each part. */
const MARK = '\u001e\n'

export interface ShellResult {
  /** What each part printed, on both outputs, as far as the script came. */
  outputs: string[]
  /** When each part was over, in seconds since the start. */
  ends: number[]
  code: number
}

/** Runs the parts in one shell, one after the other, until one fails. */
export function runShell(parts: readonly ShellPart[], cwd: string, env: Record<string, string>): Promise<ShellResult> {
  const script = parts.map(({ command, mayFail }) =>
    [mayFail ? 'set +e' : 'set -e', command, "set +e; printf '\\036\\n'"].join('\n'),
  )
  // The script is a file: commands may read standard input.
  const file = path.join(env.TMPDIR ?? cwd, 'samples.sh')
  writeFileSync(file, `exec 2>&1\n${script.join('\n')}\n`)
  const started = performance.now()
  const child = spawn('sh', [file], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ends: number[] = []
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    while (ends.length < text.split(MARK).length - 1) ends.push((performance.now() - started) / 1_000)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ outputs: text.split(MARK).slice(0, parts.length), ends, code: code ?? -1 }))
  })
}

/** A text in which what differs from run to run stands for itself: ids, times, durations, addresses. */
export function withoutChance(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replaceAll(/skp_[0-9a-f]{16}_[0-9a-f]{64}/g, '<key>')
    .replaceAll(/\b(sbx|file)_[0-9a-f]{32}\b/g, '<$1>')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?/g, '<time>')
    .replaceAll(/\b\d+(\.\d+)? (s|ms)\b/g, '<duration>')
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, '<url>')
    .replaceAll(/[ \t]+$/gm, '')
    .trim()
}

/** Whether a text is as shown: `…` stands for the rest of a line, and alone on a line for any lines. */
export function isAsShown(actual: string, shown: string): boolean {
  const pattern = withoutChance(shown)
    .split('\n')
    .map((line) => (line.trim() === '…' ? '(?:.*\n)*?.*' : line.split('…').map(escaped).join('.*')))
  return new RegExp(`^${pattern.join('\n')}$`).test(withoutChance(actual))
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
