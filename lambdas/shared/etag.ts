const entityTag = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/**
 * Whether `If-None-Match` names the entity tag: in a list, weak or strong, or as `*`. Of several headers any may.
 * @param etag a strong entity tag, with its quotes
 */
export function noneMatchNames(values: readonly string[], etag: string): boolean {
  return values.some((value) => value.trim() === '*' || [...value.matchAll(entityTag)].some(([, tag]) => tag === etag))
}
