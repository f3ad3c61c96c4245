/** A block of code in a page of Markdown. */
export interface Block {
  /** Of its first line in the page, from 1. */
  line: number
  /** The first word behind the fence; empty for a block that is indented or says none. */
  language: string
  /** The other words behind the fence. */
  marks: string[]
  text: string
}

/** The blocks of code of a page, fenced or indented, in their order. Fences in lists and quotes count as well. */
export function codeBlocks(markdown: string): Block[] {
  const lines = markdown.split('\n')
  const blocks: Block[] = []
  let inList = false
  let before = ''
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    const [, indent = '', fence, info = ''] = /^( *)(`{3,}|~{3,})\s*([^`]*)$/.exec(line) ?? []
    if (fence !== undefined) {
      const end = lines.findIndex((other, index) => index > at && other.trim() === fence)
      const body = lines.slice(at + 1, end < 0 ? undefined : end)
      const [language = '', ...marks] = info.trim().split(/\s+/)
      blocks.push({ line: at + 2, language, marks, text: body.map((each) => withoutIndent(each, indent)).join('\n') })
      at = end < 0 ? lines.length : end
    } else if (line.startsWith('    ') && before.trim() === '' && !inList) {
      const start = at
      while (lines[at + 1]?.startsWith('    ')) at += 1
      const body = lines.slice(start, at + 1)
      blocks.push({ line: start + 1, language: '', marks: [], text: body.map((each) => each.slice(4)).join('\n') })
    } else if (line.trim() !== '') {
      inList = /^\s*([*+-]|\d+[.)]) /.test(line) || (inList && line.startsWith('  '))
    }
    before = line
  }
  return blocks
}

function withoutIndent(line: string, indent: string): string {
  return line.startsWith(indent) ? line.slice(indent.length) : line.trimStart()
}

/** A command that a console shows, and what it prints there. */
export interface ShownCommand {
  command: string
  output: string
}

/** The commands of a block in the language `console`: behind `$ `, their further lines behind `> `. */
export function shownCommands(text: string): ShownCommand[] {
  const commands: { command: string[]; output: string[] }[] = []
  for (const line of text.split('\n')) {
    const last = commands.at(-1)
    if (line.startsWith('$ ')) commands.push({ command: [line.slice(2)], output: [] })
    else if (last && line.startsWith('> ') && last.output.length === 0) last.command.push(line.slice(2))
    else if (last) last.output.push(line)
    else throw new Error(`A console begins with a command: ${line}`)
  }
  return commands.map(({ command, output }) => ({ command: command.join('\n'), output: output.join('\n').trimEnd() }))
}
