import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../client/index.ts'
import { type FilesDeployment, startFilesDeployment } from '../ai/support/files-deployment.ts'
import { runCommand } from './support/command.ts'

import { temporaryFolder } from './support/tree.ts'

let deployment: FilesDeployment
let folder: string

beforeAll(async () => {
  deployment = await startFilesDeployment()
})
afterAll(() => deployment.stop())
beforeEach(() => {
  if (folder) rmSync(folder, { recursive: true })
  folder = temporaryFolder()
  for (const list of [deployment.seen, deployment.stored, deployment.failures]) list.length = 0
})

const files = (...args: string[]) =>
  runCommand(['files', ...args], {
    client: createClient({ url: deployment.url, apiKey: 'k', tenant: 'acme', project: 'site' }),
    cwd: folder,
    home: folder,
    env: { SANDBOX_GATEWAY_URL: deployment.url, SANDBOX_TOKEN: 'token_1' },
  })

test('put uploads a file and prints its id', async () => {
  writeFileSync(join(folder, 'a.csv'), 'a,b')
  expect(await files('put', 'a.csv')).toMatchObject({ code: 0, stdout: 'file_1\n' })
  expect(deployment.seen[0]?.headers).toMatchObject({ authorization: 'Bearer token_1', 'x-api-key': 'skp_test' })
  const { stdout } = await files(
    ...['put', 'a.csv', '--json', '--name', 'b "c".csv', '--type', 'text/csv', '--scope', 'app'],
    ...['--expires-in', '2h', '--origin', 'sandbox', '--user', 'u1'],
  )
  expect(JSON.parse(stdout)).toMatchObject({
    filename: 'b "c".csv',
    mime_type: 'text/csv',
    size_bytes: 3,
    scope: 'app',
    expires_in_seconds: 7_200,
    origin: 'sandbox',
  })
  expect(deployment.seen.at(-1)?.headers['x-sandbox-user-id']).toBe('u1')
})

test.each([
  [['put', 'missing'], 'missing is not a file.'],
  [['put', '.'], '. is not a file.'],
  [['put', 'a', '--expires-in', '1m'], '--expires-in should be from 1h to 90d, not "1m".'],
  [['put', 'a', '--expires-in', '91d'], '--expires-in should be from 1h to 90d'],
  [['put', 'a', '--expires-in', 'soon'], '--expires-in'],
  [['put', 'a', '--scope', 'all'], '--scope'],
  [['list', '--limit', '0'], '--limit'],
  [['get', '..'], 'sandkeep: fileId must be the id of a file.'],
  [['rm'], "'id'"],
])('%j is refused before any request', async (args, message) => {
  writeFileSync(join(folder, 'a'), '')
  expect(await files(...args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  expect(deployment.seen).toEqual([])
})

test('get writes a file by its name, and replaces nothing unless told', async () => {
  expect(await files('get', 'report.csv')).toMatchObject({ code: 0, stdout: `${join(folder, 'report.csv')}\n` })
  expect(readFileSync(join(folder, 'report.csv'), 'utf8')).toBe('a,b')
  writeFileSync(join(folder, 'report.csv'), 'mine')
  expect(await files('get', 'report.csv')).toMatchObject({ code: 1, stderr: expect.stringContaining('--force') })
  expect(readFileSync(join(folder, 'report.csv'), 'utf8')).toBe('mine')
  expect(await files('get', 'report.csv', '--force', '--json')).toMatchObject({ code: 0 })
  expect(readFileSync(join(folder, 'report.csv'), 'utf8')).toBe('a,b')
  expect(readdirSync(folder)).toEqual(['report.csv'])
})

test('get writes nowhere but where it was told', async () => {
  expect(await files('get', 'a/../../evil', '.')).toMatchObject({ code: 0 })
  expect(existsSync(join(folder, 'evil'))).toBe(true)
  expect(await files('get', 'x', 'other.csv')).toMatchObject({ stdout: `${join(folder, 'other.csv')}\n` })
  expect(await files('get', 'x', '-')).toMatchObject({ code: 0, stdout: 'a,b' })
})

test('a file that is not there', async () => {
  deployment.failures.push({ status: 404, body: '{"error":{"code":"not_found","message":"Not found."}}' })
  expect(await files('get', 'x')).toMatchObject({ code: 3, stderr: expect.stringContaining('Not found.') })
})

test('list and rm', async () => {
  expect(JSON.parse((await files('list', '--json')).stdout)).toEqual({
    files: [expect.objectContaining({ id: 'file_1' })],
  })
  expect(await files('rm', 'file_1', 'file_2')).toMatchObject({ code: 0, stdout: 'deleted file_1\ndeleted file_2\n' })
  expect(deployment.seen.filter(({ method }) => method === 'DELETE')).toHaveLength(2)
})
