import path from 'node:path'
import { parseArgs } from 'node:util'
import { oidcFromEnvironment } from '../src/access/settings.ts'
import { ANTHROPIC_BASE_URL } from '../src/anthropic/connection.ts'
import { ENVIRONMENT } from '../src/environment.ts'
import { type LocalStack, type LocalStackOptions, startLocalStack } from './index.ts'

const usage = `Usage: npm start -- [--port PORT] [--dir DIR]

Runs the whole of Sandkeep on this machine.

  --port PORT  of the API (default 8787)
  --dir DIR    keeps the data (default .sandkeep)

Requests go on to Anthropic's API where SANDBOX_ANTHROPIC_API_KEY is set, and with SANDBOX_FILES_BACKEND=anthropic files
as well. Tokens of an identity provider are taken where SANDBOX_OIDC_ISSUER is set (docs/access.md has the other variables).`

interface Flags {
  port: number
  dir: string
}

/** @throws Error with one line that says what is wrong with the flags */
function readFlags(): Flags | 'help' {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8787' },
      dir: { type: 'string', default: '.sandkeep' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return 'help'
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535) {
    throw new Error('--port must be a number from 0 to 65535.')
  }
  return { port: Number(values.port), dir: values.dir }
}

/** @throws Error naming the variable that is not valid */
function anthropicFromEnvironment(
  environment: NodeJS.ProcessEnv,
): Pick<LocalStackOptions, 'anthropic' | 'filesBackend'> {
  const { SANDBOX_ANTHROPIC_API_KEY: apiKey, [ENVIRONMENT.filesBackend]: filesBackend = 's3' } = environment
  if (filesBackend !== 's3' && filesBackend !== 'anthropic') {
    throw new Error(`${ENVIRONMENT.filesBackend} must be s3 or anthropic.`)
  }
  const baseUrl = environment[ENVIRONMENT.anthropicBaseUrl] || ANTHROPIC_BASE_URL
  return { filesBackend, anthropic: apiKey ? { baseUrl, apiKey } : undefined }
}

function welcome({ url, apiKey }: LocalStack, dir: string): string {
  return `Sandkeep runs at ${url} and keeps its data in ${path.resolve(dir)}. Ctrl-C ends it.

API key (every tenant, every right): ${apiKey}

Try it in another terminal:

  export SANDBOX_GATEWAY_URL=${url}
  export SANDBOX_API_KEY=${apiKey}
  export SANDBOX_TENANT=acme SANDBOX_PROJECT=demo

  npx sandkeep push . --thread first
  npx sandkeep log --thread first
  npx sandkeep pull /tmp/sandkeep-copy --thread first
  npx sandkeep run --task task-42 -- sh -c 'date >> log.txt; cat log.txt'
  npx sandkeep memory project
`
}

function explain(error: unknown, flags: Flags): string {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return `Port ${flags.port} is in use. Choose another one with --port.`
  }
  return error instanceof Error ? error.message : String(error)
}

async function run(flags: Flags): Promise<void> {
  const stack = await startLocalStack({
    ...flags,
    oidc: oidcFromEnvironment(process.env),
    ...anthropicFromEnvironment(process.env),
    onError: (error) => console.error(error),
  })
  const end = async (): Promise<void> => {
    await stack.stop()
    process.exit(0)
  }
  process.once('SIGINT', end)
  process.once('SIGTERM', end)
  process.stdout.write(welcome(stack, flags.dir))
}

let flags: Flags | 'help'
try {
  flags = readFlags()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error(usage)
  process.exit(2)
}
if (flags === 'help') console.log(usage)
else {
  const given = flags
  await run(given).catch((error: unknown) => {
    console.error(explain(error, given))
    process.exit(1)
  })
}
