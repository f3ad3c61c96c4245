import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Command } from 'commander'
import { createProgram } from '../../../cli/program.ts'
import { unusedContext } from '../../../scripts/docs/unused-context.ts'

const require = createRequire(import.meta.url)
const manifest = require('../../../package.json')

/** The commands of a script as their words; variables that are set before a command are left out. */
export function commandsOf(script: string): string[][] {
  const plain = script
    .replaceAll('\\\n', ' ')
    .replaceAll(/(^|\s)#.*$/gm, '')
    .replaceAll(/ [<>]+ *\S+/g, '')
  return plain
    .split(/\n|&&|;|\|/)
    .map((line) => [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word.replaceAll(/["']/g, '')))
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))
    .filter((words) => words.length > 0 && !/^[A-Z_]+=/.test(words[0] ?? ''))
}

/** What can be said of a command without running it. @throws Error saying what is wrong with it */
export function checkCommand(words: readonly string[]): void {
  const [program = '', ...args] = words
  if (program === 'npx') {
    checkCommand(args)
    return
  }
  const check = checks[program]
  if (!check) throw new Error(`Nothing is known of the command "${program}".`)
  check(args)
}

const checks: Record<string, (args: readonly string[]) => void> = {
  sandkeep: checkSandkeep,
  npm: checkNpm,
  cdk: checkCdk,
  git: ([verb]) => oneOf('git', verb, ['apply', 'diff', 'pull', 'push', 'tag']),
  aws: checkAws,
  echo: () => undefined,
  head: () => undefined,
}

function oneOf(program: string, verb: string | undefined, verbs: readonly string[]): void {
  if (!verbs.includes(verb ?? '')) throw new Error(`${program} has no "${verb}".`)
}

function checkNpm([verb = '', name = '', ...more]: readonly string[]): void {
  if (verb === 'ci' || verb === 'pack' || verb === 'publish' || verb === 'version' || verb === 'audit') return
  if (verb === 'install' && [name, ...more].every(isInstallable)) return
  const script = verb === 'run' ? name : verb
  if (!['run', 'start', 'test'].includes(verb) || !(script in manifest.scripts)) {
    throw new Error(`npm ${verb} ${name} is nothing that this package has.`)
  }
  const rest = verb === 'run' ? more : [name, ...more]
  const given = rest[0] === '--' ? rest.slice(1) : rest
  if (manifest.scripts[script].startsWith('cdk ')) checkCdk([...manifest.scripts[script].split(' ').slice(1), ...given])
  if (script === 'sandkeep') checkSandkeep(given)
}

/** The packed file of this package, or a package that is tested with it. */
function isInstallable(name: string): boolean {
  const { version, devDependencies } = manifest
  return name === `./${manifest.name}-${version}.tgz` || name in devDependencies
}

function checkCdk([verb, ...args]: readonly string[]): void {
  oneOf('cdk', verb, ['bootstrap', 'deploy', 'diff', 'synth', 'destroy', 'ls'])
  contextOf(args)
}

/** The context that options of the CDK's command give. */
export function contextOf(args: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    args.flatMap((word, at) => {
      if (args[at - 1] !== '-c') return []
      const [name = '', value] = word.split('=')
      if (value === undefined) throw new Error(`-c ${word} has no value.`)
      return [[name, value]]
    }),
  )
}

/** Operations of AWS's command, with its options, are those of the SDK. */
function checkAws([service = '', operation = '', ...args]: readonly string[]): void {
  if (service === 's3') {
    oneOf('aws s3', operation, ['sync', 'cp', 'ls', 'rm'])
    return
  }
  const sdk = `@aws-sdk/client-${service === 's3api' ? 's3' : service}`
  const name = pascalCase(operation)
  if (!(`${name}Command` in require(sdk))) throw new Error(`aws ${service} has no ${operation}.`)
  const types = require.resolve(sdk).replace(/dist-cjs.*/, 'dist-types/models/models_0.d.ts')
  const fields = readFileSync(types, 'utf8')
  for (const option of args.filter((word) => word.startsWith('--') && !OF_ALL.includes(word))) {
    if (!new RegExp(` ${pascalCase(option.slice(2))}\\??:`).test(fields))
      throw new Error(`${service} has no ${option}.`)
  }
}

/** Options of AWS's command that all operations have. */
const OF_ALL = ['--region', '--query', '--output', '--profile']

function pascalCase(words: string): string {
  return words.replaceAll(/(?:^|-)([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())
}

/** @throws Error for a command or an option that there is not, and for arguments too many or too few */
function checkSandkeep(args: readonly string[]): void {
  let command: Command = createProgram(unusedContext())
  let rest = args
  for (let found: Command | undefined; ; ) {
    found = command.commands.find((each) => each.name() === rest[0])
    if (!found) break
    command = found
    rest = rest.slice(1)
  }
  if (rest.includes('--help')) return
  const name = `sandkeep ${args.slice(0, args.length - rest.length).join(' ')}`
  if (!command.parent) throw new Error(`sandkeep has no "${rest[0]}".`)
  // What follows the two hyphens is another command's.
  const end = rest.indexOf('--')
  const { operands, unknown } = command.parseOptions([...(end < 0 ? rest : rest.slice(0, end))])
  if (unknown.length > 0) throw new Error(`${name} has no ${unknown[0]}.`)
  const given = operands.length + (end < 0 ? 0 : rest.length - end - 1)
  const declared = command.registeredArguments
  const least = declared.filter((argument) => argument.required).length
  const most = declared.some((argument) => argument.variadic) ? Number.POSITIVE_INFINITY : declared.length
  if (given < least || given > most) throw new Error(`${name} takes other arguments than ${rest.join(' ')}.`)
  for (const option of command.options) {
    const value = command.getOptionValue(option.attributeName())
    if (option.mandatory && value === undefined) throw new Error(`${name} needs ${option.long}.`)
  }
}
