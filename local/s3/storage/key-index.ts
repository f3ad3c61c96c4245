import type { ObjectVersion } from './types.ts'

/** Orders strings as their UTF-8 bytes, as S3 lists keys. JavaScript's own order differs beyond the basic plane. */
export function compareUtf8(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a !== b) return rank(a) - rank(b)
  }
  return left.length - right.length
}

/** Surrogates stand for code points above all of the basic plane. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** The versions of a bucket's objects, in the order of their keys; of a key the newest first. */
export class KeyIndex {
  private readonly keys: string[] = []
  private readonly versions = new Map<string, ObjectVersion[]>()

  get size(): number {
    return this.keys.length
  }

  /** All versions of a key, the newest first. */
  of(key: string): readonly ObjectVersion[] {
    return this.versions.get(key) ?? []
  }

  /** The newest version, unless it is a delete marker. */
  current(key: string): ObjectVersion | undefined {
    const newest = this.versions.get(key)?.[0]
    return newest?.deleteMarker ? undefined : newest
  }

  /** Adds a version, or puts it in the place of the one with its id. */
  put(version: ObjectVersion): void {
    const others = this.of(version.key).filter((other) => other.versionId !== version.versionId)
    if (!this.versions.has(version.key)) this.keys.splice(this.from(version.key), 0, version.key)
    this.versions.set(
      version.key,
      [version, ...others].sort((left, right) => right.sequence - left.sequence),
    )
  }

  remove(key: string, versionId: string): void {
    const left = this.of(key).filter((version) => version.versionId !== versionId)
    if (left.length > 0) {
      this.versions.set(key, left)
    } else if (this.versions.delete(key)) {
      this.keys.splice(this.from(key), 1)
    }
  }

  /** The keys from `start` on that have the prefix, in order. The index must not change while they are read. */
  *range(prefix: string, start: string): Generator<string, void> {
    const first = compareUtf8(start, prefix) > 0 ? start : prefix
    for (let index = this.from(first); index < this.keys.length; index++) {
      const key = this.keys[index] ?? ''
      if (!key.startsWith(prefix)) return
      yield key
    }
  }

  /** The place of the first key that is not before this one. */
  private from(key: string): number {
    let low = 0
    let high = this.keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareUtf8(this.keys[middle] ?? '', key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
