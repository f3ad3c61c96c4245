import { Writable } from 'node:stream'
import type { Command, Option } from 'commander'
import { withThread } from '../../cli/context.ts'
import { createProgram } from '../../cli/program.ts'
import { unusedContext } from './unused-context.ts'

/** The reference of all commands, as their own help tells it: Markdown. */
export function commandReference(): string {
  let help = ''
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      help += chunk
      done()
    },
  })
  const program = createProgram({ ...unusedContext(), stdout })
  const moreOf = (command: Command): string => {
    help = ''
    command.outputHelp()
    return help.slice(command.helpInformation().length)
  }
  const common = commonOptions(program)
  const sections = leaves(program).map((command) => section(command, moreOf(command), common))
  const general = moreOf(program)
    .replaceAll(/^ +\$ .*\n/gm, '')
    .replace(/^Examples:\n\n/m, '')
  return `## Settings and exit codes

\`\`\`text
${general.trim()}
\`\`\`

## Options that commands share

${table(common.map(optionRow))}

${sections.join('\n\n')}
`
}

/** The commands that do something, in the order of the help. */
function leaves(command: Command): Command[] {
  const below = command.commands.flatMap(leaves)
  const acts =
    command.parent !== null && (below.length === 0 || command.registeredArguments.length + command.options.length > 0)
  return acts ? [command, ...below] : below
}

/** Those that `withThread` adds. */
function commonOptions(program: Command): Option[] {
  return [...withThread(program.createCommand()).options]
}

function section(command: Command, more: string, common: readonly Option[]): string {
  const own = command.options.filter(({ long }) => !common.some((option) => option.long === long))
  const takesThread = command.options.some(({ long }) => long === '--thread')
  const [text = '', examples = ''] = more.split(/^Examples?:\n/m)
  return [
    `## \`${usage(command)}\``,
    `${capital(command.description())}.`,
    command.registeredArguments.length + own.length > 0 &&
      table([
        ...command.registeredArguments.map((each) => [code(each.name()), each.description, each.defaultValue] as const),
        ...own.map(optionRow),
      ]),
    takesThread && 'Takes `--thread`.',
    paragraphs(text),
    examples && `\`\`\`sh example\n${examples.replaceAll(/^ *\$ /gm, '').trim()}\n\`\`\``,
  ]
    .filter(Boolean)
    .join('\n\n')
}

function usage(command: Command): string {
  const names: string[] = []
  for (let at: Command | null = command; at; at = at.parent) names.unshift(at.name())
  return [...names, command.usage().replace('[options] ', '').replace('[options]', '').replace('[command]', '')]
    .join(' ')
    .trim()
}

/** Lists of codes stay as they are printed; what the terminal breaks into lines is one paragraph here. */
function paragraphs(text: string): string {
  const escaped = text.trim().replaceAll(/[<*]/g, '\\$&')
  return escaped.includes('\n  ')
    ? escaped.replaceAll(/^ +(\w+) {2,}/gm, '* $1: ').replaceAll(/(:|and)\n\* /g, '$1\n\n* ')
    : escaped
}

function optionRow(option: Option): Row {
  return [code(option.flags), describe(option), option.defaultValue]
}

function describe(option: Option): string {
  const choices = option.argChoices ? `: ${option.argChoices.map(code).join(', ')}` : ''
  return `${option.description}${choices}${option.mandatory ? '; required' : ''}`
}

type Row = readonly [name: string, text: string, standard: unknown]

/** Rows of a name, what it is, and its default. */
function table(rows: readonly Row[]): string {
  const lines = rows.map(([name, text, standard]) => {
    const shown = standard === undefined || String(standard) === '' ? '' : ` (default ${code(String(standard))})`
    return `| ${name} | ${text.replaceAll('|', '\\|').replaceAll('<', '\\<')}${shown} |`
  })
  return ['| | |', '|---|---|', ...lines].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
