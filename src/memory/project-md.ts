import { excerptKey, excerptPartition, taskKey, taskPartition } from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import type { MemoryContext } from './context.ts'
import { isLive, readTask } from './items.ts'

/** What the document is read from: the table alone. */
export type DocumentContext = Pick<MemoryContext, 'table' | 'scope' | 'now'>

/** What of the catalog is held while the document is read. */
interface Entry {
  taskId: string
  latestTurn: number
  turnCount: number
  updatedAt: number
  retainUntil: number
  /** None: no turn has a summary. */
  excerptWrite: string | undefined
}

/** So many bytes of excerpts are held at once: those of 16,000 tasks in letters of ASCII. */
const MAX_HELD_BYTES = 33_554_432
/** BatchGetItem takes so many keys. */
const BATCH = 100
/** Batches of excerpts that are read before they are asked for: each is at most some 800 KB. */
const AHEAD = 4
/** So many tasks make a piece. Larger strings and buffers are freed late: V8 puts them where it seldom looks. */
const PIECE = 8
const CATALOG_ATTRIBUTES = ['sk', 'latestTurn', 'turnCount', 'updatedAt', 'retainUntil', 'excerptWrite']

/**
 * The document in pieces of a few tasks. The catalog is read first, so that the order is known and a failure of the
 * storage shows before the first piece. The excerpts lie in another order: they are read by a query, which takes half
 * the time of single reads, or, where there are too many to be held, as the document is.
 * @param maxHeldBytes how many bytes of excerpts may be held
 */
export async function* projectMd(context: DocumentContext, maxHeldBytes = MAX_HELD_BYTES): AsyncGenerator<string> {
  const entries = await readCatalog(context)
  yield '# Project memory\n'
  const excerpts = await readAllExcerpts(context, maxHeldBytes)
  if (excerpts) {
    for (const group of groupsOf(entries, PIECE)) yield await sectionsOf(context, group, excerpts)
    return
  }
  const sections = async (batch: Entry[]) => sectionsOf(context, batch, await readExcerpts(context, batch))
  yield* inOrder(groupsOf(entries, BATCH), sections)
}

async function readCatalog({ table, scope, now }: DocumentContext): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const items of table.query(taskPartition(scope), { attributes: CATALOG_ATTRIBUTES })) {
    for (const item of items) {
      const entry = readEntry(item)
      if (isLive(entry, now())) entries.push(entry)
    }
  }
  // The order of the ids, which they were read in, decides between updates of one time.
  return entries.sort((left, right) => right.updatedAt - left.updatedAt)
}

function readEntry(item: Item): Entry {
  const { taskId, latestTurn, turnCount, updatedAt, retainUntil, excerptWrite } = readTask(item)
  return { taskId, latestTurn, turnCount, updatedAt, retainUntil, excerptWrite }
}

function* groupsOf<Member>(members: readonly Member[], size: number): Generator<Member[]> {
  for (let start = 0; start < members.length; start += size) yield members.slice(start, start + size)
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

/** Excerpts by the task and the name of their write: as bytes, which lie where no garbage collector copies them to and fro. */
type Excerpts = ReadonlyMap<string, { toString(): string }>

/** Undefined: there are more than may be held. */
async function readAllExcerpts({ table, scope }: DocumentContext, maxHeldBytes: number): Promise<Excerpts | undefined> {
  const excerpts = new Map<string, Buffer>()
  let held = 0
  for await (const items of table.query(excerptPartition(scope))) {
    held += hold(excerpts, items)
    if (held > maxHeldBytes) return undefined
  }
  return excerpts
}

/** Keeps the excerpts of a page in one piece of memory. @returns its bytes */
function hold(excerpts: Map<string, Buffer>, items: readonly Item[]): number {
  const read = items.map(readExcerpt)
  const page = Buffer.allocUnsafeSlow(read.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0))
  let start = 0
  for (const [key, text] of read) {
    const end = start + page.write(text, start)
    excerpts.set(key, page.subarray(start, end))
    start = end
  }
  return page.length
}

async function readExcerpts({ table, scope }: DocumentContext, batch: Entry[]): Promise<Excerpts> {
  const keys = batch
    .filter(({ excerptWrite }) => excerptWrite !== undefined)
    .map(({ taskId }) => excerptKey(scope, taskId))
  const items = keys.length === 0 ? [] : await retryTransient(() => table.batchGet(keys))
  return new Map(items.map(readExcerpt))
}

function readExcerpt({ sk, write, text }: Item): [key: string, text: string] {
  return [`${sk}#${write}`, text as string]
}

async function sectionsOf(context: DocumentContext, batch: Entry[], excerpts: Excerpts): Promise<string> {
  const sections = batch.map((entry) => {
    if (entry.excerptWrite === undefined) return sectionOf(entry, undefined)
    const excerpt = excerpts.get(`${entry.taskId}#${entry.excerptWrite}`)
    return excerpt === undefined ? readSection(context, entry.taskId) : sectionOf(entry, excerpt.toString())
  })
  return (await Promise.all(sections)).join('')
}

/** The section of a task that was written to between the reads of its entry and of its excerpt. */
async function readSection({ table, scope, now }: DocumentContext, taskId: string): Promise<string> {
  const keys = [taskKey(scope, taskId), excerptKey(scope, taskId)]
  return retryTransient(async () => {
    const items = await table.batchGet(keys)
    const task = items.find(({ pk }) => pk === taskPartition(scope))
    const excerpt = items.find(({ pk }) => pk === excerptPartition(scope))
    const entry = task && readEntry(task)
    if (!entry || !isLive(entry, now())) return ''
    if (entry.excerptWrite === undefined) return sectionOf(entry, undefined)
    if (excerpt?.write !== entry.excerptWrite) throw new TransientError('The task was written to while it was read.')
    return sectionOf(entry, excerpt.text as string)
  })
}

function sectionOf({ taskId, latestTurn, turnCount, updatedAt }: Entry, excerpt: string | undefined): string {
  const updated = new Date(updatedAt).toISOString()
  const head = `\n## ${taskId}\n\n- Latest turn: ${latestTurn}\n- Turns: ${turnCount}\n- Updated: ${updated}\n`
  return excerpt === undefined ? head : `${head}\n${excerpt}${excerpt.endsWith('\n') ? '' : '\n'}`
}
