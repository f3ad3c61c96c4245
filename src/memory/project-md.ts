import { excerptKey, taskPartition } from '../table/keys.ts'
import { retryTransient } from '../table/transient.ts'
import type { MemoryContext } from './context.ts'
import { isLive, readTask } from './items.ts'

/** What of the catalog is held while the document is read. */
interface Entry {
  taskId: string
  generation: string
  latestTurn: number
  turnCount: number
  updatedAt: number
  hasSummary: boolean
}

/** BatchGetItem takes so many keys. */
const BATCH = 100
/** Batches of excerpts that are read before they are asked for: each is at most some 800 KB. */
const AHEAD = 4
const CATALOG_ATTRIBUTES = ['sk', 'generation', 'latestTurn', 'turnCount', 'updatedAt', 'retainUntil', 'summaryTurn']

/**
 * The document in pieces of up to 100 tasks. The catalog is read first, so that the order is known and a failure of the
 * storage shows before the first piece; its excerpts are read as the document is.
 */
export async function* projectMd(context: MemoryContext): AsyncGenerator<string> {
  const entries = await readCatalog(context)
  yield '# Project memory\n'
  const sections = (batch: Entry[]) => readSections(context, batch)
  for await (const text of inOrder(batchesOf(entries), sections)) yield text
}

async function readCatalog({ table, scope, now }: MemoryContext): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const items of table.query(taskPartition(scope), { attributes: CATALOG_ATTRIBUTES })) {
    for (const item of items) {
      const { taskId, generation, latestTurn, turnCount, updatedAt, summaryTurn, retainUntil } = readTask(item)
      if (!isLive({ retainUntil }, now())) continue
      const hasSummary = summaryTurn !== undefined
      entries.push({ taskId, generation, latestTurn, turnCount, updatedAt, hasSummary })
    }
  }
  // The order of the ids, which they were read in, decides between updates of one time.
  return entries.sort((left, right) => right.updatedAt - left.updatedAt)
}

function* batchesOf(entries: Entry[]): Generator<Entry[]> {
  for (let start = 0; start < entries.length; start += BATCH) yield entries.slice(start, start + BATCH)
}

/** What the work gives for each input, in their order; a few are under way at a time. */
async function* inOrder<In, Out>(inputs: Iterable<In>, work: (input: In) => Promise<Out>): AsyncGenerator<Out> {
  const under: Promise<Out>[] = []
  const next = (): Promise<Out> | undefined => under.shift()
  for (const input of inputs) {
    const started = work(input)
    // It may fail while another is waited for.
    started.catch(() => undefined)
    under.push(started)
    if (under.length > AHEAD) yield (await next()) as Out
  }
  for (let done = next(); done; done = next()) yield await done
}

async function readSections({ table, scope }: MemoryContext, batch: Entry[]): Promise<string> {
  const keys = batch.filter(({ hasSummary }) => hasSummary).map(({ taskId }) => excerptKey(scope, taskId))
  const items = keys.length === 0 ? [] : await retryTransient(() => table.batchGet(keys))
  const excerpts = new Map(items.map(({ sk, generation, text }) => [`${sk}#${generation}`, text as string]))
  return batch.map((entry) => sectionOf(entry, excerpts.get(`${entry.taskId}#${entry.generation}`))).join('')
}

function sectionOf({ taskId, latestTurn, turnCount, updatedAt }: Entry, excerpt: string | undefined): string {
  const updated = new Date(updatedAt).toISOString()
  const head = `\n## ${taskId}\n\n- Latest turn: ${latestTurn}\n- Turns: ${turnCount}\n- Updated: ${updated}\n`
  return excerpt === undefined ? head : `${head}\n${excerpt}${excerpt.endsWith('\n') ? '' : '\n'}`
}
