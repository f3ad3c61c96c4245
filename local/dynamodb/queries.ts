import type { Store } from 'dynalite/db/index.js'
import dynaliteDb from 'dynalite/db/index.js'
import { type Condition, fulfils } from './conditions.ts'
import { run, validate } from './item-actions.ts'
import { StoreView } from './store.ts'
import type { JsonObject, WireItem } from './types.ts'

/** A condition that dynalite's own filter lets everything through by: a function that it does not know. */
const ALWAYS = { type: 'function', name: 'always', args: [] }

/**
 * Query or Scan: dynalite reads and checks the page, then the filter and the projection are applied here, so that a filter
 * compares values as a condition does.
 */
export async function readPage(name: 'Query' | 'Scan', store: Store, request: JsonObject): Promise<JsonObject> {
  const checked = validate(name, request, store)
  const filter = checked._filter as { expression: Condition } | undefined
  if (!filter) return run(name, new StoreView(store, checked), checked)

  const projection = checked._projection as { paths: unknown[] } | undefined
  const page: JsonObject = {
    ...checked,
    Select: checked.Select === 'COUNT' ? undefined : checked.Select,
    _filter: { ...filter, expression: ALWAYS },
    _projection: projection && { ...projection, paths: undefined },
  }
  const { Items, ...answer } = await run(name, new StoreView(store, page), page)
  const found = (Items as WireItem[]).filter((item) => fulfils(item, filter.expression))
  if (checked.Select === 'COUNT') return { ...answer, Count: found.length }
  const shown = projection ? found.map((item) => dynaliteDb.mapPaths(projection.paths, item)) : found
  return { ...answer, Count: found.length, Items: shown }
}
