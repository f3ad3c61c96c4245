import { readFileSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')

interface Property {
  name: string
  type: string
  optional: boolean
  text: string
  standard: string
}

/** A table of the properties of an interface in a source file, from their comments: Markdown. */
export function propertyTable(file: string, name: string): string {
  const rows = properties(readFileSync(path.join(ROOT, file), 'utf8'), name).map(
    ({ name, type, optional, text, standard }) =>
      `| \`${name}\` | \`${type.replaceAll('|', '\\|')}\` | ${text} | ${optional ? standard : 'required'} |`,
  )
  return ['| property | type | | default |', '|---|---|---|---|', ...rows].join('\n')
}

/** @throws Error for an interface that is not there, and for a property that says nothing of itself */
function properties(source: string, name: string): Property[] {
  const [, body] = new RegExp(`^export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)^\\}`, 'm').exec(source) ?? []
  if (body === undefined) throw new Error(`There is no interface ${name}.`)
  return [...body.matchAll(/(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?^ {2}readonly (\w+)(\??): ([^\n]+)/gm)].map(
    ([, comment = '', property = '', optional, type = '']) => {
      const plain = comment
        .replaceAll(/^\s*\* ?/gm, '')
        .replaceAll(/\s+/g, ' ')
        .trim()
      const [text = '', standard = ''] = plain.split(/\s*@default /)
      if (optional && standard === '') throw new Error(`${name}.${property} does not say its default.`)
      return { name: property, type: shortType(type), optional: optional === '?', text, standard: quoted(standard) }
    },
  )
}

function shortType(type: string): string {
  return type
    .replace(/^Partial<Readonly<Record<ServiceName, number>>>$/, '{ [service]: number }')
    .replace(/^readonly /, '')
}

/** Code stands as code: a literal, a call, a member. */
function quoted(standard: string): string {
  return /^('.*'|\d[\d_]*|true|false|\w+\.\w+(\(.*\))?)$/.test(standard) ? `\`${standard}\`` : standard
}
