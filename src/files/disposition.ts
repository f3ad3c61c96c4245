import { create } from 'content-disposition'

/** The `content-disposition` of a download, in ASCII: every name comes through, by its percent-encoded form if need be. */
export function attachment(filename: string): string {
  return create(filename)
}
