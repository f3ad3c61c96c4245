/** Code or HTML that goes on, over blank lines too, until a line ends it. */
interface OpenBlock {
  isEnd(line: string): boolean
  /** A line that ends it; none where a blank line does. */
  closing?: string
}

/** A quote or a list item. */
interface Container {
  /** What a line holds for it; undefined: the line does not belong to it. */
  within(line: string): string | undefined
  blocks: Blocks
}

const htmlEnd = /<\/(?:script|pre|style|textarea)>/i
const htmlBlocks: ReadonlyArray<{ start: RegExp; end: RegExp; closing: (start: string) => string }> = [
  { start: /^<(script|pre|style|textarea)(?=[\s>]|$)/i, end: htmlEnd, closing: (start) => `</${start.slice(1)}>` },
  { start: /^<!--/, end: /-->/, closing: () => '-->' },
  { start: /^<\?/, end: /\?>/, closing: () => '?>' },
  { start: /^<!\[CDATA\[/, end: /\]\]>/, closing: () => ']]>' },
  { start: /^<![a-z]/i, end: />/, closing: () => '>' },
]
const htmlElement = new RegExp(
  `^</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|
  fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|
  menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|
  ul)(?:\\s|/?>|$)`.replace(/\n\s+/g, ''),
  'i',
)
/** Any tag by itself on a line. */
const htmlTag = /^<(?:\/[a-z][a-z0-9-]*\s*|[a-z][a-z0-9-]*(?:\s[^<>]*)?\/?)>\s*$/i
const fence = /^(?:(`{3,})[^`]*|(~{3,}).*)$/
const heading = /^#{1,6}(?: |$)/
const underline = /^(?:=+|-+) *$/
const thematicBreak = /^(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/
const listMarker = /^(?:[-+*]|(\d{1,9})[.)])(?= |$)/

/**
 * What is to be added to a text of Markdown (CommonMark) so that no block of it goes on in what follows: nothing, or a
 * line that ends fenced code or HTML. What is open in a list item or a quote ends with that, at the latest at a heading
 * at the beginning of a line, so only a block outside of those counts.
 */
export function closingOf(text: string): string {
  const blocks = new Blocks()
  for (const line of text.split(/\r\n|\n|\r/)) blocks.add(expandTabs(line))
  const { closing } = blocks
  if (closing === undefined) return ''
  return /[\r\n]$/.test(text) ? closing : `\n${closing}`
}

/** The blocks of a document, a quote or a list item, as far as they are read. */
class Blocks {
  #open: OpenBlock | undefined
  #container: Container | undefined
  #paragraph = false
  #isEmpty = true

  get closing(): string | undefined {
    return this.#open?.closing
  }

  get inParagraph(): boolean {
    return this.#container ? this.#container.blocks.inParagraph : this.#paragraph
  }

  add(line: string): void {
    if (this.#open) {
      if (this.#open.isEnd(line)) this.#open = undefined
      return
    }
    const container = this.#container
    const within = container?.within(line)
    if (container && within !== undefined) {
      container.blocks.add(within)
      return
    }
    // Text goes on with a paragraph even where it leaves the container of that.
    if (container?.blocks.inParagraph && isText(line)) return
    this.#container = undefined
    this.#begin(line)
    if (!isBlank(line)) this.#isEmpty = false
  }

  #begin(line: string): void {
    const { content, indent } = split(line)
    const wasParagraph = this.#paragraph
    if (indent >= 4 && content !== '') return
    this.#paragraph = false
    if (content === '' || heading.test(content)) return
    if (content.startsWith('>')) {
      this.#enter(quote(), line)
      return
    }
    this.#open = fencedCode(content, indent)
    if (this.#open) return
    const html = htmlBlock(content, wasParagraph)
    // HTML may end in the line in which it begins.
    if (html) this.#open = html.isEnd(content) ? undefined : html
    if (html || (wasParagraph && underline.test(content)) || thematicBreak.test(content)) return
    const item = listItem(content, indent, wasParagraph)
    if (item) this.#enter(item, ' '.repeat(item.offset) + line.slice(item.offset))
    else this.#paragraph = true
  }

  #enter({ within }: Pick<Container, 'within'>, line: string): void {
    const blocks = new Blocks()
    blocks.add(within(line) ?? '')
    // A list item may begin with one blank line, and not with two.
    this.#container = {
      blocks,
      within: (later) => (blocks.#isEmpty && isBlank(later) ? undefined : within(later)),
    }
  }
}

/** Whether a line begins no block of its own. */
function isText(line: string): boolean {
  const { content, indent } = split(line)
  if (content === '') return false
  if (indent >= 4) return true
  if (content.startsWith('>') || heading.test(content) || fence.test(content)) return false
  return !(htmlBlock(content, true) || thematicBreak.test(content) || listMarker.test(content))
}

function quote(): Pick<Container, 'within'> {
  return { within: (line) => /^ {0,3}> ?(.*)$/s.exec(line)?.[1] }
}

function listItem(
  content: string,
  indent: number,
  inParagraph: boolean,
): (Pick<Container, 'within'> & { offset: number }) | undefined {
  const [marker, number] = listMarker.exec(content) ?? []
  if (marker === undefined) return undefined
  const rest = split(content.slice(marker.length))
  const isEmpty = rest.content === ''
  // A paragraph goes on over an empty item, and over a list that does not begin with 1.
  if (inParagraph && (isEmpty || (number !== undefined && Number(number) !== 1))) return undefined
  const offset = indent + marker.length + (isEmpty || rest.indent > 4 ? 1 : rest.indent)
  return {
    offset,
    within: (line) => {
      const { content: text, indent: spaces } = split(line)
      if (text === '') return ''
      return spaces >= offset ? line.slice(offset) : undefined
    },
  }
}

function fencedCode(content: string, indent: number): OpenBlock | undefined {
  const [, backticks, tildes] = fence.exec(content) ?? []
  const mark = backticks ?? tildes
  if (mark === undefined) return undefined
  const end = new RegExp(`^ {0,3}${mark}${mark[0]}* *$`)
  return { isEnd: (line) => end.test(line), closing: ' '.repeat(indent) + mark }
}

function htmlBlock(content: string, inParagraph: boolean): OpenBlock | undefined {
  for (const { start, end, closing } of htmlBlocks) {
    const [begun] = start.exec(content) ?? []
    if (begun !== undefined) return { isEnd: (line) => end.test(line), closing: closing(begun) }
  }
  if (!htmlElement.test(content) && (inParagraph || !htmlTag.test(content))) return undefined
  return { isEnd: isBlank }
}

function isBlank(line: string): boolean {
  return /^ *$/.test(line)
}

function split(line: string): { content: string; indent: number } {
  const content = line.replace(/^ +/, '')
  return { content, indent: line.length - content.length }
}

/** With spaces up to the next column that 4 divides in place of each tab. */
function expandTabs(line: string): string {
  if (!line.includes('\t')) return line
  let expanded = ''
  for (const part of line.split(/(\t)/)) expanded += part === '\t' ? ' '.repeat(4 - (expanded.length % 4)) : part
  return expanded
}
