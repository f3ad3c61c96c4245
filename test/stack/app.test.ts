import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const app = path.resolve(import.meta.dirname, '../../bin/sandkeep.ts')

/** Runs the app as the CDK's command does, and returns its template by its name. */
async function synth(context: Record<string, string>): Promise<{ name: string; template: string }> {
  const outdir = await mkdtemp(path.join(tmpdir(), 'sandkeep-app-'))
  onTestFinished(() => rm(outdir, { recursive: true, force: true }))
  const CDK_CONTEXT_JSON = JSON.stringify({ 'aws:cdk:bundling-stacks': [], ...context })
  await promisify(execFile)(process.execPath, [app], { env: { ...process.env, CDK_OUTDIR: outdir, CDK_CONTEXT_JSON } })
  const file = (await readdir(outdir)).find((name) => name.endsWith('.template.json')) ?? ''
  return { name: file.replace('.template.json', ''), template: await readFile(path.join(outdir, file), 'utf8') }
}

test('the stack of production keeps its data', async () => {
  const { name, template } = await synth({})
  expect(name).toBe('Sandkeep')
  expect(template).toContain('"DeletionProtectionEnabled": true')
})

test('another stage stands beside it, and is thrown away only when it is told so', async () => {
  expect(await synth({ stage: 'dev' })).toMatchObject({
    name: 'Sandkeep-dev',
    template: expect.stringContaining('"DeletionProtectionEnabled": true'),
  })
  expect(await synth({ stage: 'pr-7', throwaway: 'true' })).toMatchObject({
    name: 'Sandkeep-pr-7',
    template: expect.stringContaining('"DeletionProtectionEnabled": false'),
  })
})

test('the key of Anthropic is read from the secret that is named', async () => {
  const { template } = await synth({ anthropicSecret: 'team/anthropic', filesBackend: 'anthropic' })
  expect(template).toContain('"SANDBOX_FILES_BACKEND": "anthropic"')
  expect(template).toContain(':secret:team/anthropic-??????')
  expect((await synth({})).template).not.toContain('secretsmanager')
})

test.for([
  [{ stage: '' }, '"stage"'],
  [{ stage: 'a/b' }, '"stage"'],
  [{ stage: 'dev', throwaway: 'yes' }, '"throwaway"'],
  [{ filesBackend: 'disk' }, '"filesBackend"'],
  [{ filesBackend: 'anthropic' }, 'filesBackend'],
  [{ corsOrigins: 'example' }, 'corsOrigins'],
  [{ stage: 'dev', thrwaway: 'true' }, 'There is no context value "thrwaway"'],
  [{ throwaway: 'true' }, '"prod" cannot be thrown away'],
] as const)('bad settings are named: %j', async ([context, message]) => {
  await expect(synth(context)).rejects.toThrow(message)
})
