import ignore, { type Ignore } from 'ignore'
import { isFixedOut } from './fixed-rules.ts'
import { join, STAGING_PATTERN } from './paths.ts'

/** Later files win over earlier ones of the same folder; deeper folders win over the ones above. */
export const RULE_FILES = ['.gitignore', '.sandkeepignore'] as const

/** Why a path is left out: by a fixed rule, or because a rule file says so. */
export type SkipReason = 'built_in' | 'ignored'

/**
 * The rules that hold inside one folder: its own rule files and those of the folders above, in git's order.
 *
 * All rules are rewritten to be relative to the top and live in one matcher, because "the last match decides" must hold
 * across files: a deeper file may take back what a file above excluded.
 */
export interface IgnoreRules {
  skips(folder: string, name: string, isDirectory: boolean): SkipReason | null
  /** The rules with those of one more rule file, found in `folder`. */
  extend(folder: string, text: string): IgnoreRules
}

/** Only the fixed rules: `.git`, `node_modules` and `.env*` anywhere, and what a killed pull left at the top. */
export function builtInRules(): IgnoreRules {
  return rulesOver(null)
}

function rulesOver(matcher: Ignore | null): IgnoreRules {
  return {
    skips(folder, name, isDirectory) {
      if (isBuiltIn(folder, name)) return 'built_in'
      if (matcher === null) return null
      const path = join(folder, name)
      return matcher.ignores(isDirectory ? `${path}/` : path) ? 'ignored' : null
    },
    extend(folder, text) {
      // Git matches case; the library does not unless told.
      const extended = ignore({ ignorecase: false })
      if (matcher !== null) extended.add(matcher)
      for (const line of text.replace(/^\uFEFF/, '').split(/\r?\n/)) {
        const pattern = rooted(folder, line)
        if (pattern !== null) extended.add([{ pattern }])
      }
      return rulesOver(extended)
    },
  }
}

function isBuiltIn(folder: string, name: string): boolean {
  if (isFixedOut(name)) return true
  return folder === '' && STAGING_PATTERN.test(name)
}

/** One line of a rule file in `folder`, as a pattern relative to the top; null for comments and blank lines. */
function rooted(folder: string, line: string): string | null {
  const text = withoutTrailingSpaces(line)
  if (text === '' || text.startsWith('#')) return null
  const negated = text.startsWith('!')
  const body = negated ? text.slice(1) : text
  if (body === '' || body === '/') return null
  // A slash anywhere but at the end ties the pattern to the folder of its file.
  const tied = body.slice(0, -1).includes('/')
  const base = folder === '' ? '' : `/${folder.replace(/[\\*?[\]!# ]/g, '\\$&')}`
  const anchored = tied ? `${base}/${body.replace(/^\//, '')}` : `${base}${folder === '' ? '' : '/**/'}${body}`
  return `${negated ? '!' : ''}${anchored}`
}

function withoutTrailingSpaces(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === ' ' && !isEscaped(line, end - 1)) end -= 1
  return line.slice(0, end)
}

function isEscaped(line: string, index: number): boolean {
  let backslashes = 0
  while (line[index - 1 - backslashes] === '\\') backslashes += 1
  return backslashes % 2 === 1
}
