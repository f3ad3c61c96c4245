import { commandReference } from './command-line.ts'
import { propertyTable } from './construct.ts'
import { operationTable, priceTable } from './cost.ts'

interface Made {
  page: string
  /** Stands between the comments `<!-- made: name -->` and `<!-- end -->`. */
  name: string
  make: () => string
}

const OF_INTERFACES = {
  SandkeepProps: 'lib/sandkeep.ts',
  Throttling: 'lib/throttling.ts',
  AnthropicProps: 'lib/sandkeep.ts',
  ApiDomain: 'lib/api.ts',
}

/** The parts of the documentation that are made from the sources. */
export const MADE: readonly Made[] = [
  { page: 'docs/command-line.md', name: 'commands', make: commandReference },
  { page: 'docs/cost.md', name: 'prices', make: priceTable },
  { page: 'docs/cost.md', name: 'operations', make: operationTable },
  ...Object.entries(OF_INTERFACES).map(([name, file]) => ({
    page: 'docs/cdk.md',
    name,
    make: () => propertyTable(file, name),
  })),
]

/** A page with its made parts as they should be. @throws Error when it has no place for one */
export function withMade(page: string, text: string): string {
  return MADE.filter((made) => made.page === page).reduce((before, { name, make }) => {
    const place = new RegExp(`(<!-- made: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`)
    if (!place.test(before)) throw new Error(`${page} has no place for ${name}.`)
    return before.replace(place, (_all, begin: string, end: string) => `${begin}\n${make().trim()}\n\n${end}`)
  }, text)
}
