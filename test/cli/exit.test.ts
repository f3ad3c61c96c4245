import { expect, test } from 'vitest'
import { InterruptedError, MissingError, RefusedError, TransferError, UsageError } from '../../cli/errors.ts'
import { describeFailure } from '../../cli/exit.ts'
import { formatBytes, printable } from '../../cli/format.ts'
import { table } from '../../cli/output.ts'
import { foldedClash } from '../../cli/workspace/staging.ts'
import { SandkeepHttpError, SandkeepNetworkError } from '../../client/index.ts'
import { checkpointErrorFromCode } from '../../src/checkpoints/errors.ts'
import { InvalidInputError } from '../../src/errors.ts'

const fileError = (code: string) => Object.assign(new Error(`${code}: no`), { code, path: '/w/a\u001b' })
const contract = (code: string) => checkpointErrorFromCode(`SANDBOX_SNAPSHOT_${code}`, 'So it is.')

test.each<[unknown, number, RegExp]>([
  [new InterruptedError(), 130, /run the command again/],
  [new UsageError('Give --x.'), 2, /Give --x/],
  [new InvalidInputError('apiKey', 'apiKey must be text.'), 2, /apiKey/],
  [new MissingError('None.'), 3, /None/],
  [new RefusedError('No.'), 1, /No/],
  [contract('WRITER_CONFLICT'), 4, /busy.*two minutes/],
  [contract('WRITER_LOST'), 4, /lost.*try again/],
  [contract('STALE_HEAD'), 4, /changed meanwhile/],
  [contract('DUPLICATE_ID'), 4, /changed meanwhile/],
  [contract('FORK_DESTINATION_NOT_EMPTY'), 4, /does not exist yet/],
  [contract('FORK_SOURCE_NOT_FOUND'), 3, /sandkeep log/],
  [contract('INVALID_ENTRY'), 1, /So it is/],
  [new SandkeepHttpError(401, 'unauthenticated', 'No.'), 5, /SANDBOX_API_KEY/],
  [new SandkeepHttpError(403, 'forbidden', 'No.'), 5, /role/],
  [new SandkeepHttpError(404, 'not_found', 'No.', { requestId: 'r1' }), 3, /request r1/],
  [new SandkeepHttpError(404, 'not_found', 'There is no such route.', { requestId: 'r1' }), 2, /--url.*request r1/],
  [new SandkeepHttpError(409, 'blob_in_use', 'No.'), 4, /No/],
  [new SandkeepHttpError(409, 'file_not_downloadable', 'No.'), 1, /No/],
  [new SandkeepHttpError(503, 'unavailable', 'No.'), 6, /later/],
  [new SandkeepHttpError(500, 'internal', 'No.', { requestId: 'r1' }), 1, /500.*request r1/],
  [new SandkeepNetworkError('http://h:1', new Error('x')), 6, /url/],
  [new TransferError('The storage refused an upload (500).', 500), 6, /try again/],
  [new TransferError('The storage refused an upload (400 BadDigest).', 400), 1, /BadDigest.*Try again/],
  [Object.assign(new Error('connect'), { code: 'ECONNRESET' }), 6, /ECONNRESET/],
  [fileError('ENOSPC'), 1, /^\/w\/a\\u\{1b\}: The disk is full\. Free/],
  [fileError('EROFS'), 1, /read-only\. Choose/],
  [fileError('EACCES'), 1, /Permission denied\. Change/],
  [new Error('odd\nthing'), 1, /^odd\\nthing$/],
])('%s', (error, exitCode, message) => {
  const failure = describeFailure(error)
  expect(failure.exitCode).toBe(exitCode)
  expect(failure.message).toMatch(message)
})

test('a long list of details is cut, and says by how much', () => {
  const details = Array.from({ length: 25 }, (_, index) => `d${index}`)
  expect(describeFailure(new RefusedError('No.', details)).details).toEqual([...details.slice(0, 20), 'and 5 more'])
})

test('details cannot command the terminal either', () => {
  expect(describeFailure(new RefusedError('No.', ['a\u001b', 'b\\u{1b}'])).details).toEqual(['a\\u{1b}', 'b\\u{1b}'])
})

test('text from outside cannot command the terminal', () => {
  expect(printable('a\u001b]0;x\u0007\r\n\t\u009b\u202e\ud800 \\ 報告😀')).toBe(
    'a\\u{1b}]0;x\\u{7}\\r\\n\\t\\u{9b}\\u{202e}\\u{d800} \\ 報告😀',
  )
})

test('sizes and columns', () => {
  expect([0, 999, 1_000, 999_949, 999_950, 5_368_709_120].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '999.9 kB',
    '1.0 MB',
    '5.4 GB',
  ])
  expect(
    table([
      ['a', 'bb', 'c'],
      ['aaa', 'b', ''],
    ]),
  ).toEqual(['a    bb  c', 'aaa  b'])
})

test('names that a file system may take for one', () => {
  expect(foldedClash(['a', 'b/A', 'b'])).toBeNull()
  expect(foldedClash(['x/a', 'y', 'X/A'])).toEqual(['x/a', 'X/A'])
  expect(foldedClash(['caf\u00e9', 'cafe\u0301'])).toEqual(['caf\u00e9', 'cafe\u0301'])
})
