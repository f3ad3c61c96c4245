import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ERROR_CODES } from '../../lambdas/openapi/error-codes.ts'
import { ROOT } from './support/pages.ts'

/** Where the sources say the limit of each row: a file, and what stands before the number in it. */
const SOURCES: Record<string, [file: string, before: string]> = {
  'body of a request': ['src/limits.ts', 'INLINE_LIMIT_BYTES ='],
  'body by way of S3': ['src/limits.ts', 'STAGED_LIMIT_BYTES ='],
  'depth of a JSON body': ['src/limits.ts', 'MAX_JSON_DEPTH ='],
  'values of a JSON body': ['src/limits.ts', 'MAX_JSON_MARKS ='],
  'anything the gateway takes': ['local/gateway/limits.ts', 'MAX_PAYLOAD_BYTES ='],
  'request line and header values': ['local/gateway/limits.ts', 'MAX_HEADER_BYTES ='],
  "method's ARN with the path of a request": ['local/gateway/limits.ts', 'MAX_METHOD_ARN_BYTES ='],
  'time until an answer': ['local/gateway/limits.ts', 'buffered:'],
  'time of a streamed answer': ['local/gateway/limits.ts', 'streamed:'],
  'streamed answer': ['local/gateway/limits.ts', 'MAX_STREAM_BYTES ='],
  'life of a presigned request': ['src/limits.ts', 'PRESIGNED_SECONDS ='],
  'time in which an upload can be completed': ['src/uploads/uploads.ts', 'OPEN_MS ='],
  'text of a token': ['src/access/tokens.ts', 'MAX_TOKEN_LENGTH ='],
  'life of a decision of the identity provider': ['src/access/decisions.ts', 'MAX_AGE_MS ='],
  'one blob': ['src/limits.ts', 'MAX_BLOB_BYTES ='],
  'blobs in one request': ['src/limits.ts', 'EXCHANGE_LIMIT ='],
  "depth of a checkpoint's JSON in process": ['src/checkpoints/validate-json.ts', 'MAX_DEPTH ='],
  'length of a lease': ['src/checkpoints/store.ts', 'DEFAULT_LEASE_DURATION_MS ='],
  'wait of a sweep for writers': ['src/limits.ts', 'MAX_SWEEP_WAIT_MS ='],
  'age of reports of sweeps': ['src/sweep/report.ts', 'REPORT_DAYS ='],
  'record of an instance': ['src/instances/store.ts', 'MAX_RECORD_BYTES ='],
  'number of a turn': ['src/memory/names.ts', 'MAX_TURN ='],
  'meta of a turn': ['src/limits.ts', 'MAX_META_BYTES ='],
  'summary of a turn': ['src/limits.ts', 'MAX_SUMMARY_BYTES ='],
  artifact: ['src/limits.ts', 'MAX_ARTIFACT_BYTES ='],
  'artifacts of a turn': ['src/limits.ts', 'MAX_ARTIFACTS ='],
  'content type of an artifact': ['src/memory/names.ts', 'MAX_CONTENT_TYPE_LENGTH ='],
  'excerpt of a summary in `project.md`': ['src/memory/excerpt.ts', 'EXCERPT_CODE_POINTS ='],
  'life of a task after its last write': ['src/limits.ts', 'MEMORY_RETENTION_SECONDS ='],
  'time until a sandbox expires': ['lambdas/sandboxes/schemas.ts', 'MAX_TTL_SECONDS ='],
  labels: ['lambdas/sandboxes/schemas.ts', 'MAX_LABELS ='],
  'name of a label': ['lambdas/sandboxes/schemas.ts', 'MAX_LABEL_NAME ='],
  'text of a label': ['lambdas/sandboxes/schemas.ts', 'MAX_LABEL_VALUE ='],
  'labels together': ['lambdas/sandboxes/schemas.ts', 'MAX_LABEL_BYTES ='],
  'last save after the end': ['src/sandboxes/save.ts', 'LAST_SAVE_MS ='],
  'life of a record after the end': ['src/limits.ts', 'SANDBOX_RETENTION_SECONDS ='],
  file: ['src/files/rules.ts', 'MAX_FILE_BYTES ='],
  'name of a file': ['src/files/rules.ts', 'MAX_NAME_CODE_POINTS ='],
  'time until an upload expires': ['src/files/rules.ts', 'most:'],
  'files that one request to the model names': ['src/anthropic/request-ids.ts', 'MAX_FILES ='],
  'name of a key': ['src/keys/store.ts', 'MAX_NAME_LENGTH ='],
  'bindings of a key': ['src/keys/store.ts', 'MAX_BINDINGS ='],
  'path in a checkpoint that is pulled': ['cli/workspace/paths.ts', 'MAX_PATH_BYTES ='],
  'name of a file that is pulled': ['cli/workspace/paths.ts', 'MAX_NAME_BYTES ='],
  'files in the diff of a run': ['cli/run/workspace-diff.ts', 'MAX_FILES ='],
  'text file in the diff of a run': ['cli/run/workspace-diff.ts', 'MAX_FILE_BYTES ='],
  'text files in the diff of a run together': ['cli/run/workspace-diff.ts', 'MAX_TOTAL_BYTES ='],
}

const text = readFileSync(path.join(ROOT, 'docs/limits.md'), 'utf8')
const rows = [...text.matchAll(/^\| ([^|]+) \| ([\d,]+) \| [^|]+ \| ([^|]*) ?\|$/gm)].map(
  ([, what = '', most = '', error = '']) => ({
    name: what.split(/, (?=in |counted )|;/)[0] ?? '',
    most: Number(most.replaceAll(',', '')),
    error: error.trim(),
  }),
)

test('each row has its place in the sources, and each place its row', () => {
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(SOURCES).sort())
})

test.for(rows)('the sources have the limit of $name', ({ name, most }) => {
  const [file = '', before = ''] = SOURCES[name] ?? []
  const source = readFileSync(path.join(ROOT, file), 'utf8')
  const [, expression = ''] = new RegExp(`\\b${before} ([\\d_]+(?: \\* [\\d_]+)*)`).exec(source) ?? []
  const value = expression.split(' * ').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1)
  expect(value, `${before} of ${file}`).toBe(most)
})

test.for(rows.filter(({ error }) => /^\d{3} `/.test(error)))('there is the error of $name', ({ error }) => {
  const [, status, code = ''] = /^(\d{3}) `(\w+)`/.exec(error) ?? []
  if (error.includes("Anthropic's")) return
  const statuses: readonly (number | string)[] = ERROR_CODES[code as keyof typeof ERROR_CODES]?.statuses ?? []
  expect(statuses.includes(Number(status)) || statuses.includes('4XX'), error).toBe(true)
})
