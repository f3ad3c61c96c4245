import { formatMode, printable } from './format.ts'
import type { EntryChange, EntryDifferences } from './workspace/manifest.ts'

/** A line for each path that differs: A added, D removed, M changed, and in what. */
export function changeLines({ added, removed, changed }: EntryDifferences): string[] {
  return [
    ...added.map(({ path }) => `A ${printable(path)}`),
    ...removed.map(({ path }) => `D ${printable(path)}`),
    ...changed.map((change) => `M ${printable(change.path)} (${describeChange(change)})`),
  ]
}

function describeChange({ aspects, before, after }: EntryChange): string {
  return aspects
    .map((aspect) => {
      if (aspect === 'kind') return `${before.kind} to ${after.kind}`
      if (aspect === 'mode' && before.kind === 'file' && after.kind === 'file') {
        return `mode ${formatMode(before.mode)} to ${formatMode(after.mode)}`
      }
      return aspect
    })
    .join(', ')
}
