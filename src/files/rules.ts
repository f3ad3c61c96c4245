import { InvalidInputError } from '../errors.ts'

/** The largest file: 32 MiB. */
export const MAX_FILE_BYTES = 33_554_432

/** How long an upload may be kept, in seconds: from an hour to 90 days. */
export const FILE_EXPIRY_SECONDS = { least: 3_600, most: 7_776_000, default: 2_592_000 } as const

/** How many files one page of a list may have. */
export const FILE_PAGE_SIZE = { most: 100, default: 20 } as const

const MAX_NAME_CODE_POINTS = 255
const MAX_TYPE_LENGTH = 255
const typePattern = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+$/

/**
 * The name of a file: what stands after the last slash or backslash, as it is. Nothing is decoded or normalised.
 * @throws InvalidInputError naming `filename` unless that is 1 to 255 code points without control characters and half
 * surrogates, and neither `.` nor `..`.
 */
export function fileName(text: string): string {
  const name = text.slice(Math.max(text.lastIndexOf('/'), text.lastIndexOf('\\')) + 1)
  const length = [...name].length
  if (length < 1 || length > MAX_NAME_CODE_POINTS) {
    throw new InvalidInputError('filename', `filename must have 1 to ${MAX_NAME_CODE_POINTS} characters.`)
  }
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) {
    throw new InvalidInputError('filename', 'filename must have no control characters and no half surrogates.')
  }
  if (name === '.' || name === '..') throw new InvalidInputError('filename', 'filename must be the name of a file.')
  return name
}

/**
 * The media type of a file in lower case, without parameters, which are not kept.
 * @throws InvalidInputError naming `mime_type` unless it is a type and a subtype, in at most 255 characters
 */
export function mimeType(text: string): string {
  const [type = ''] = text.toLowerCase().split(';')
  const trimmed = type.trim()
  if (trimmed.length <= MAX_TYPE_LENGTH && typePattern.test(trimmed)) return trimmed
  throw new InvalidInputError('mime_type', 'mime_type must be a type and a subtype, such as text/csv.')
}
