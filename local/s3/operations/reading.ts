import { S3Error } from '../errors.ts'
import type { ObjectVersion } from '../storage/types.ts'
import { contentHeaders, describe } from './attributes.ts'
import { checkRead } from './conditions.ts'
import type { Context, Reply } from './context.ts'
import { checksumHeaders } from './objects.ts'
import { findVersion, versionHeaders } from './versions.ts'

/** GetObject, and HeadObject: the server leaves out the bytes. */
export function getObject({ request, catalog }: Context): Reply {
  const { headers, query } = request
  const bucket = catalog.bucket(request.bucket)
  const version = findVersion(bucket, request)
  const described = { ...describe(version), ...versionHeaders(bucket, version), ...overrides(query) }
  if (checkRead(headers, version) === 'not modified') {
    delete described['content-type']
    return { status: 304, headers: described }
  }
  const part = query.get('partNumber')
  if (part !== undefined && headers.range !== undefined) {
    throw new S3Error('InvalidRequest', 'Cannot specify both Range header and partNumber query parameter')
  }
  const range = part === undefined ? parseRange(headers.range, version.size) : partRange(version, part)
  const { start, end } = range ?? { start: 0, end: version.size }
  if (range) described['content-range'] = `bytes ${start}-${end - 1}/${version.size}`
  if (part !== undefined && version.parts) described['x-amz-mp-parts-count'] = String(version.parts.length)
  const whole = end - start === version.size
  if (headers['x-amz-checksum-mode'] === 'ENABLED' && whole) Object.assign(described, checksumHeaders(version.checksum))
  described['content-length'] = String(end - start)
  return { status: range ? 206 : 200, headers: described, content: { pieces: version.pieces, start, end } }
}

/** The headers that a request wants to have changed by `response-…`. */
function overrides(query: ReadonlyMap<string, string>): Record<string, string> {
  const result: Record<string, string> = {}
  for (const name of contentHeaders) {
    const value = query.get(`response-${name}`)
    if (value === undefined) continue
    if (!/^[\t -~\xa0-\xff]*$/.test(value)) {
      throw new S3Error('InvalidArgument', 'Header value cannot be represented using ISO-8859-1.', {
        ArgumentName: `response-${name}`,
        ArgumentValue: value,
      })
    }
    result[name] = value
  }
  return result
}

/**
 * The bytes that a Range header asks for: from `start` up to, not including, `end`. What is no single range is ignored,
 * as HTTP has it.
 * @throws S3Error InvalidRange when none of the bytes exists
 */
function parseRange(header: string | undefined, size: number): { start: number; end: number } | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (!match) return undefined
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(Number(last) + 1, size)
  if (start >= end) {
    throw new S3Error(
      'InvalidRange',
      undefined,
      { RangeRequested: header ?? '', ActualObjectSize: String(size) },
      { 'content-range': `bytes */${size}` },
    )
  }
  return { start, end }
}

/** The bytes of one uploaded part; an object uploaded at once is its own part 1. */
function partRange(version: ObjectVersion, part: string): { start: number; end: number } {
  const number = Number(part)
  if (!/^\d{1,5}$/.test(part) || number < 1 || number > 10_000) {
    throw new S3Error('InvalidArgument', 'Part number must be an integer between 1 and 10000, inclusive')
  }
  const parts = version.parts ?? [{ number: 1, size: version.size }]
  let start = 0
  for (const candidate of parts) {
    if (candidate.number === number) return { start, end: start + candidate.size }
    start += candidate.size
  }
  throw new S3Error('InvalidPartNumber', undefined, {
    ActualPartCount: String(parts.length),
    PartNumberRequested: part,
  })
}
