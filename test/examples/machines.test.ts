import { accessSync, constants, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { temporaryFolder } from '../cli/support/tree.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { lintDockerfile, readDockerfile } from './support/dockerfile.ts'
import { EXAMPLES, makeMachine, type OnStart } from './support/machine.ts'
import { readWorkflow, runJob } from './support/workflow.ts'

vi.setConfig({ testTimeout: 120_000 })
let stack: LocalStack
let client: SandkeepClient
let base: string
let settings: Record<string, string>
let project = 0
let machines = 0
beforeAll(async () => {
  stack = await startLocalStack()
}, 180_000)
afterAll(() => stack.stop())
beforeEach(() => {
  base = temporaryFolder()
  project += 1
  settings = { SANDBOX_GATEWAY_URL: stack.url, SANDBOX_TENANT: 'acme', SANDBOX_PROJECT: `m${project}` }
  client = createClient({ url: stack.url, apiKey: stack.apiKey, tenant: 'acme', project: `m${project}` })
  return () => rmSync(base, { recursive: true, force: true })
})

function nextMachine(env: Record<string, string> = {}) {
  machines += 1
  return makeMachine(join(base, `machine-${machines}`), env)
}
/** Sends the program a signal once it says that it is waiting. */
function onWaiting(signal: NodeJS.Signals): OnStart {
  let sent = false
  return (child, stdout) => {
    if (sent || !stdout.includes('waiting\n')) return
    sent = true
    child.kill(signal)
  }
}
const metaOf = async (turn: number) => (await client.memory.getTurn({ taskId: 'task-42', turn }))?.meta
/** A file of the task's latest workspace. */
async function latestText(path: string): Promise<string | undefined> {
  const { sandbox } = await client.sandboxes.create({ profile: 'p', taskId: 'task-42', restoreLatest: true })
  const manifest = sandbox.restore && (await client.sandboxes.getSnapshot(sandbox.restore))
  const file = manifest?.files.find((entry) => entry.path === path)
  const blob = file?.kind === 'file' ? await client.blobs.get(file.blobKey) : null
  return blob ? new Response(blob.stream()).text() : undefined
}
const read = (path: string) => readFileSync(join(EXAMPLES, path), 'utf8')

describe('the job of GitHub Actions', () => {
  const { jobs, on } = readWorkflow(read('github-actions.yml'))
  const actions = {
    'actions/setup-node@v7': ({ 'node-version': version, ...rest }: Record<string, string>) => {
      expect([version, rest]).toEqual([process.versions.node.split('.')[0], {}])
    },
  }
  const dispatch = (prompt: string, onStart?: OnStart) => {
    const [job] = Object.values(jobs)
    if (!job) throw new Error('There is no job.')
    const inputs: Record<string, string> = { task: 'task-42', prompt }
    expect(Object.keys(on.workflow_dispatch.inputs)).toEqual(Object.keys(inputs))
    return runJob({
      job,
      machine: nextMachine(),
      contexts: { inputs, vars: settings, secrets: { SANDBOX_API_KEY: stack.apiKey, ANTHROPIC_API_KEY: 'key' } },
      actions,
      env: { GITHUB_RUN_ID: '77', CI: 'true' },
      ...(onStart && { onStart }),
    })
  }

  test('goes on with its task on the next runner, also after it was cancelled', async () => {
    expect(await dispatch('first $(exit 1) "one"')).toBe('')
    await expect(dispatch('wait', onWaiting('SIGINT'))).rejects.toMatchObject({ code: 130 })
    expect(await dispatch('third')).toBe('prompts\n')
    expect(await latestText('prompts')).toBe('first $(exit 1) "one"\nwait\nthird\n')
    expect(await metaOf(2)).toMatchObject({ exit_code: 130 })
    expect(await metaOf(3)).toMatchObject({ agent_id: 'claude-code', job_id: '77', exit_code: 0 })
  })

  test.each([
    ['a name that nobody sets', 'vars.SANDBOX_TENANT', 'vars.SANDBOX_TENNANT', /There is no vars\.SANDBOX_TENNANT/],
    ['an unknown key', 'timeout-minutes:', 'timeout:', /timeout/],
    ['text that somebody typed in a script', '"$TASK"', '"$' + '{{ inputs.task }}"', /in a script/],
  ])('would not pass with %s', async (_what, right, wrong, message) => {
    const text = read('github-actions.yml').replace(right, wrong)
    const attempt = async () => {
      const [job] = Object.values(readWorkflow(text).jobs)
      const contexts = { inputs: { task: 't', prompt: 'p' }, vars: settings, secrets: {} }
      if (job)
        await runJob({ job: { ...job, steps: job.steps.slice(1) }, machine: nextMachine(), contexts, actions, env: {} })
    }
    await expect(attempt()).rejects.toThrow(message)
  })
})

describe('the image', () => {
  const instructions = readDockerfile(read('docker/Dockerfile'))
  const textOf = (name: string) => instructions.find((instruction) => instruction.name === name)?.text ?? ''
  const container = async (command: string[], env: Record<string, string> = {}, onStart?: OnStart) => {
    const [init, dashes, entrypoint = ''] = JSON.parse(textOf('ENTRYPOINT')) as string[]
    expect([init, dashes]).toEqual(['tini', '--'])
    const all = { ...settings, SANDBOX_API_KEY: stack.apiKey, TASK: 'task-42', ...env }
    const machine = nextMachine(all)
    for (const { name, text } of instructions) {
      if (name === 'RUN' && text.startsWith('npm ')) await machine.execute('sh', ['-e', '-c', text])
    }
    return machine.execute(join(EXAMPLES, 'docker', entrypoint), command, {}, onStart)
  }

  test('follows good practice, and has its entrypoint where it is looked for', () => {
    expect(lintDockerfile(instructions)).toEqual([])
    const [source = '', target] = textOf('COPY').split(' ')
    expect(target).toBe(`/usr/local/bin/${(JSON.parse(textOf('ENTRYPOINT')) as string[]).at(-1)}`)
    accessSync(join(EXAMPLES, 'docker', source), constants.X_OK)
  })

  test.each([
    ['FROM node:24-slim', 'FROM node', 'node has no tag.'],
    ['USER node\n', '', 'It runs as root.'],
    ['["tini", "--", "entrypoint.sh"]', 'entrypoint.sh', 'entrypoint.sh runs in a shell, which keeps signals from it.'],
  ])('is found fault with where %j is %j', (right, wrong, finding) => {
    expect(lintDockerfile(readDockerfile(read('docker/Dockerfile').replace(right, wrong)))).toEqual([finding])
  })

  test('goes on with its task on the next host, also after it was stopped', async () => {
    await container(['sh', '-c', 'echo one > a'])
    const script = 'cat a; echo two > a; echo waiting; exec sleep 60'
    await expect(container(['sh', '-c', script], {}, onWaiting('SIGTERM'))).rejects.toMatchObject({ code: 143 })
    expect(await container(['cat', 'a'], { AUTOSAVE: '5s' })).toBe('two\n')
    expect((await metaOf(3))?.job_id).toMatch(/./)
    await expect(container(['true'], { TASK: '' })).rejects.toMatchObject({ code: 2 })
  })
})
