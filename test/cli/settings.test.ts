import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { resolveSettings } from '../../cli/settings.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'sandkeep-settings-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

const place = { url: 'https://api.test', tenant: 'acme', project: 'site' }

async function config(content: object): Promise<void> {
  const folder = path.join(home, '.config', 'sandkeep')
  await mkdir(folder, { recursive: true })
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(content))
}

test('a token does as well as a key, from any source', async () => {
  const env = { HOME: home }
  expect(await resolveSettings({ ...place, token: 't' }, env)).toEqual({ ...place, token: 't' })
  expect(await resolveSettings(place, { ...env, SANDBOX_TOKEN: 't' })).toEqual({ ...place, token: 't' })
  await config({ ...place, token: 't' })
  expect(await resolveSettings({}, env)).toEqual({ ...place, token: 't' })
})

test('a key and a token that are given together go together', async () => {
  const env = { HOME: home, SANDBOX_API_KEY: 'k' }
  expect(await resolveSettings({ ...place, token: 't' }, env)).toEqual({ ...place, apiKey: 'k', token: 't' })
  await config({ ...place, api_key: 'k', token: 't' })
  expect(await resolveSettings({}, { HOME: home })).toEqual({ ...place, apiKey: 'k', token: 't' })
})

test('the credentials of the file do not join those that are given otherwise', async () => {
  await config({ ...place, api_key: 'of-the-file' })
  expect(await resolveSettings({ token: 't' }, { HOME: home })).toEqual({ ...place, token: 't' })
  await config({ ...place, token: 'of-the-file' })
  expect(await resolveSettings({}, { HOME: home, SANDBOX_API_KEY: 'k' })).toEqual({ ...place, apiKey: 'k' })
})

test('what is missing is named, with every way to give it', async () => {
  await expect(resolveSettings({ tenant: 'acme' }, { HOME: home })).rejects.toThrow(
    'Give --url, --api-key, --project; or set SANDBOX_GATEWAY_URL, SANDBOX_API_KEY, SANDBOX_PROJECT; or put "url", ' +
      '"api_key", "project" into',
  )
  await expect(resolveSettings(place, { HOME: home })).rejects.toThrow(
    /^Missing settings. Give --api-key; .* a token will do: --token or SANDBOX_TOKEN\.$/,
  )
  await expect(resolveSettings({ token: 't' }, { HOME: home })).rejects.toThrow(/^((?!token).)*$/)
})
