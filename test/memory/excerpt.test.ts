import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { excerptOf } from '../../src/memory/excerpt.ts'
import { closingOf } from '../../src/memory/open-block.ts'

describe('the excerpt of a summary', () => {
  it('is its first 2,000 code points', () => {
    for (const unit of ['x', 'é', '語', '😀']) {
      expect(excerptOf(unit.repeat(2_000))).toBe(unit.repeat(2_000))
      expect(excerptOf(unit.repeat(2_001))).toBe(unit.repeat(2_000))
    }
    expect(excerptOf(`${'x'.repeat(1_999)}😀😀`)).toBe(`${'x'.repeat(1_999)}😀`)
    expect(excerptOf('')).toBe('')
  })

  it('ends the code that it cuts', () => {
    const excerpt = excerptOf(`\`\`\`ts\n${'xy\n'.repeat(2_000)}\`\`\`\n`)
    expect(excerpt.slice(2_000)).toBe('\n```')
  })

  it('takes any text, however deep', () => {
    for (const unit of ['>', '> ', '- ', '* 1. ', '<', '`', '\t', '\u00a0', '\r', '&#']) {
      expect(excerptOf(unit.repeat(2_000)).startsWith(unit.repeat(2))).toBe(true)
    }
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (text) => {
        expect(excerptOf(text).startsWith(text)).toBe(true)
      }),
      { seed: 20_261_104, numRuns: 500 },
    )
  })
})

describe('what ends an open block', () => {
  it.each([
    ['fenced code', '```\ncode', '\n```'],
    ['of many backticks', '`````js title\n```\ncode\n', '`````'],
    ['of tildes, with backticks in it', '~~~\n```\n', '~~~'],
    ['of indented fences', 'text\n   ```\ncode', '\n   ```'],
    ['that follows a list', '- a\n\ntext\n```', '\n```'],
    ['that no paragraph goes on over', 'text\n2. text\n   ```', '\n   ```'],
    ['a comment', 'text\n<!-- a\n\nb', '\n-->'],
    ['an element of plain text', '<PRE class="a">\n\n', '</PRE>'],
    ['a script', '<script>\nlet a', '\n</script>'],
    ['an instruction', '<?php', '\n?>'],
    ['a declaration', '<!DOCTYPE', '\n>'],
    ['character data', '<![CDATA[\n', ']]>'],
  ])('is there for %s', (_name, text, closing) => {
    expect(closingOf(text)).toBe(closing)
    expect(closingOf(text + closing)).toBe('')
  })

  it.each([
    ['closed code', '```\ncode\n```'],
    ['code closed by a longer fence', '```\ncode\n   `````  '],
    ['backticks within a line', 'a ``` b\n``` a ` b'],
    ['four spaces', '\n    ```\ntext'],
    ['a tab', '\n\t```\ntext'],
    ['a fence in a list item', '- a\n  ```\n  code'],
    ['a fence that begins a list item', '1. ```\n   code'],
    ['a fence in a quote', '> ```\n> code'],
    ['a fence that ends with its list item', '- ```\ntext'],
    ['a fence in an element', '<div>\n```\n</div>'],
    ['a comment that ends in its line', '<!-- a --> b\ntext'],
    ['a comment within a paragraph', 'text <!-- a'],
    ['an element that a blank line ends', '<div>\n\ntext'],
    ['nothing', ''],
  ])('is not there for %s', (_name, text) => {
    expect(closingOf(text)).toBe('')
  })
})
