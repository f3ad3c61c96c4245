/** The oldest version of Node that has all that the commands use, as in package.json. */
const OLDEST = [22, 15] as const

/** Why the program cannot run on this version of Node, such as `20.19.0`; undefined when it can. */
export function nodeRefusal(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined
  return `sandkeep: needs Node ${OLDEST.join('.')} or later; this is ${version}.`
}
