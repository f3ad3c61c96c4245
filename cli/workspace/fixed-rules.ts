/** What some file system leaves out of a name: code points without a shape, and dots and spaces at the end. */
const IGNORABLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu
const IGNORABLE_END = /[. ]+$/

/** The 8.3 names that NTFS and FAT make of `.git`, `node_modules` and `.env*`. */
const SHORT_NAME = /^(git|node_m|env[^.~]{0,3})~\d/

/**
 * Whether a push leaves out everything of this name, and a pull writes nothing of it, whatever the rule files say:
 * `.git`, `node_modules` and `.env*`. A checkpoint may be brought back on a file system that takes other spellings for
 * the same name, so those count too: any letter case, characters that HFS+ does not see, trailing dots and spaces,
 * streams (`.git::$DATA`) and short names (`git~1`) of NTFS.
 */
export function isFixedOut(name: string): boolean {
  const folded = name.normalize('NFC').replace(IGNORABLE, '').toUpperCase().toLowerCase()
  const plain = (folded.split(':', 1)[0] ?? '').replace(IGNORABLE_END, '')
  return plain === '.git' || plain === 'node_modules' || plain.startsWith('.env') || SHORT_NAME.test(plain)
}
