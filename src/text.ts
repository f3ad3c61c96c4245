import { createHash } from 'node:crypto'

/**
 * SHA-256 of a string's UTF-16 code units, as 64 hex digits. Two strings never share it, half surrogates included:
 * UTF-8 would make the same bytes of all of those.
 */
export function hashText(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('hex')
}

/** SHA-256 of the bytes of all parts, one after the other, as 64 hex digits. */
export function hashBytes(...parts: Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** Order by UTF-8 bytes, which is the order of code points: for `Array.prototype.sort`. */
export function compareUtf8(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a !== b) return isSurrogate(a) === isSurrogate(b) ? a - b : isSurrogate(a) ? 1 : -1
  }
  return left.length - right.length
}

// A surrogate stands for a code point above U+FFFF, which sorts after every other code unit.
function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
