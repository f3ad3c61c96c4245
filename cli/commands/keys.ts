import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type ApiKeyRecord,
  type KeyBinding,
  type KeyStore,
  RIGHTS,
  type Right,
  ROLES,
  type Role,
} from '../../src/keys/types.ts'
import { type CommandContext, type ConnectionOptions, openSession, withConnection } from '../context.ts'
import { UsageError } from '../errors.ts'
import { isoTime, printable } from '../format.ts'
import { createOutput, table } from '../output.ts'

interface CreateOptions extends ConnectionOptions {
  name: string
  role: Role
  bind?: string[]
  right?: Right[]
  table?: string
  region?: string
}

export function registerKeys(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('manage API keys (needs a platform key)')
  registerCreate(keys, context)
  withConnection(keys.command('list'))
    .description('list the keys; their texts are not kept')
    .addHelpText('after', '\nExample:\n  $ sandkeep keys list')
    .action(async (options: ConnectionOptions) => {
      const { client, output } = await openSession(context, options)
      const records = await client.keys.list()
      await output.result({ keys: records.map(describe) }, () => table(records.map(row)))
    })
  withConnection(keys.command('revoke').argument('<id>', 'the id of the key, as `keys list` shows it'))
    .description('end a key, at once and for good')
    .addHelpText('after', '\nExample:\n  $ sandkeep keys revoke KEY_ID')
    .action(async (id: string, options: ConnectionOptions) => {
      const { client, output } = await openSession(context, options)
      await client.keys.revoke(id)
      await output.result({ id, revoked: true }, () => [`revoked ${printable(id)}`])
    })
}

function registerCreate(keys: Command, context: CommandContext): void {
  withConnection(keys.command('create'))
    .description('make a key and print it: it is shown this once')
    .requiredOption('--name <text>', 'what the key is for')
    .addOption(
      new Option('--role <role>', 'what it may do; each includes the ones before').choices(ROLES).default('writer'),
    )
    .option('--bind <tenant/project>', 'what it is good for, * for all; repeatable', (value, all: string[] = []) => [
      ...all,
      value,
    ])
    .addOption(new Option('--right <right>', 'what it may do beside its role; repeatable').argParser(parseRight))
    .option('--table <name>', 'write to this table with AWS credentials instead of over the API')
    .option('--region <region>', 'AWS region of --table')
    .addHelpText(
      'after',
      `
Without --bind the key is good for the tenant and project of the settings. --table needs no API key: it makes the
first key of a new deployment.

Examples:
  $ sandkeep keys create --name ci --role writer --bind acme/site
  $ sandkeep keys create --name worker --role writer --bind acme/site --right act_for_users --right act_as_sandbox
  $ sandkeep keys create --name admin --role platform --bind '*/*' --table Sandkeep --region eu-west-1`,
    )
    .action(async (options: CreateOptions) => {
      const { name, role, right: rights = [] } = options
      const input = { name, role, rights, bindings: (options.bind ?? []).map(parseBinding) }
      const created =
        options.table === undefined
          ? await createOverApi(context, options, input)
          : await createInTable(options.table, options.region, input)
      await createOutput(context.stdout, options.json === true).result(
        { key: created.key, ...describe(created.record) },
        () => [created.key],
      )
      if (!options.json) context.stderr.write(`id ${created.record.id}. Keep the key now: it is not shown again.\n`)
    })
}

type Input = Parameters<KeyStore['create']>[0]

async function createOverApi(context: CommandContext, options: CreateOptions, input: Input) {
  const { client, settings } = await openSession(context, options)
  const bindings = input.bindings.length > 0 ? input.bindings : [{ tenant: settings.tenant, project: settings.project }]
  return client.keys.create({ ...input, bindings })
}

async function createInTable(tableName: string, region: string | undefined, input: Input) {
  if (input.bindings.length === 0) throw new UsageError("--table needs at least one --bind, for example --bind '*/*'.")
  // Loaded only here: the SDK takes longer to load than most commands take.
  const [{ DynamoDBClient }, { createKeyStore }] = await Promise.all([
    import('@aws-sdk/client-dynamodb'),
    import('../../src/keys/store.ts'),
  ])
  const dynamodb = new DynamoDBClient(region === undefined ? {} : { region })
  try {
    await dynamodb.config.region().catch((cause: unknown) => {
      throw new UsageError('The AWS Region is missing. Give --region, or set AWS_REGION.', { cause })
    })
    await dynamodb.config.credentials().catch((cause: unknown) => {
      const hint = 'Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.'
      throw new UsageError(`--table needs AWS credentials, and none were found. ${hint}`, { cause })
    })
    return await createKeyStore({ dynamodb, tableName }).create(input)
  } finally {
    dynamodb.destroy()
  }
}

function parseBinding(text: string): KeyBinding {
  const [tenant, project, ...more] = text.split('/')
  if (tenant && project && more.length === 0) return { tenant, project }
  throw new UsageError(`--bind should be TENANT/PROJECT (or */*), not "${text}".`)
}

function parseRight(text: string, others: Right[] = []): Right[] {
  const right = RIGHTS.find((known) => known === text)
  if (right) return [...others, right]
  throw new InvalidArgumentError(`Allowed choices are ${RIGHTS.join(', ')}.`)
}

function describe({ id, name, role, bindings, rights, createdAt, revokedAt }: ApiKeyRecord) {
  const revoked = revokedAt === undefined ? {} : { revoked_at: isoTime(revokedAt) }
  return { id, name, role, bindings, rights, created_at: isoTime(createdAt), ...revoked }
}

function row({ id, name, role, bindings, rights, createdAt, revokedAt }: ApiKeyRecord): string[] {
  const scopes = bindings.map(({ tenant, project }) => `${tenant}/${project}`).join(' ')
  return [
    printable(id),
    role,
    printable(scopes),
    rights.join(' ') || '-',
    isoTime(createdAt) ?? '-',
    revokedAt === undefined ? 'active' : `revoked ${isoTime(revokedAt) ?? '-'}`,
    printable(name),
  ]
}
