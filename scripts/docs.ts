/** `npm run docs` writes the parts of the documentation that are made from the sources. */
import { readFileSync, writeFileSync } from 'node:fs'
import { MADE, withMade } from './docs/made.ts'

for (const page of new Set(MADE.map(({ page }) => page))) {
  const url = new URL(`../${page}`, import.meta.url)
  writeFileSync(url, withMade(page, readFileSync(url, 'utf8')))
}
