import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type Block, codeBlocks } from '../../../scripts/docs/blocks.ts'

export const ROOT = path.resolve(import.meta.dirname, '../../..')

export interface Page {
  /** From the root of the repository: `docs/api.md`. */
  name: string
  text: string
  blocks: Block[]
}

/** README.md and all of docs/. */
export function readPages(): Page[] {
  const inDocs = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  const names = ['README.md', ...inDocs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]
  return names.sort().map((name) => {
    const text = readFileSync(path.join(ROOT, name), 'utf8')
    return { name, text, blocks: codeBlocks(text) }
  })
}

/** What becomes of a block. */
export type Use = 'run' | 'check' | 'show'

/** Why a command is not run: it needs an AWS account, a registry or a checkout, or stands for others like it. */
const UNRUN = ['aws', 'npm', 'example']
/** Languages of what is no command and no program. */
const SHOWN = ['http', 'json', 'text', 'logs']
/** Marks of code that say what stands around it: see `typescript.ts`. */
export const AROUND = ['client', 'stack']

/** @throws Error for a block that is neither run nor marked with a known reason */
export function useOf({ language, marks }: Block): Use {
  const unknown = marks.filter((mark) => ![...UNRUN, ...AROUND, 'restic'].includes(mark))
  if (unknown.length > 0) throw new Error(`Unknown marks: ${unknown.join(' ')}`)
  if (language === '') throw new Error('The block has no language.')
  if (SHOWN.includes(language) && marks.length === 0) return 'show'
  if (language === 'sh') return marks.some((mark) => UNRUN.includes(mark)) ? 'check' : 'run'
  if ((language === 'console' || language === 'ts') && !marks.some((mark) => UNRUN.includes(mark))) return 'run'
  throw new Error(`A block of "${[language, ...marks].join(' ')}" is never run.`)
}
