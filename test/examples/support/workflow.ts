import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import * as z from 'zod'
import type { Machine, OnStart } from './machine.ts'

/** Of the syntax of GitHub Actions what an example needs. */
const environment = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
const action = z.strictObject({
  uses: z.string().regex(/^[\w-]+\/[\w-]+@v\d+$/),
  name: z.string().optional(),
  with: environment.default({}),
})
const script = z.strictObject({ run: z.string(), name: z.string().optional(), env: environment.default({}) })
const job = z.strictObject({
  'runs-on': z.literal('ubuntu-latest'),
  'timeout-minutes': z.number().int().positive(),
  concurrency: z.string().optional(),
  env: environment.default({}),
  steps: z.array(z.union([action, script])).min(1),
})
const input = z.strictObject({
  description: z.string(),
  required: z.boolean().optional(),
  type: z.enum(['string', 'boolean', 'number', 'choice']).optional(),
})
const workflow = z.strictObject({
  name: z.string(),
  on: z.strictObject({ workflow_dispatch: z.strictObject({ inputs: z.record(z.string(), input) }) }),
  permissions: z.record(z.string(), z.enum(['read', 'write', 'none'])),
  jobs: z.record(z.string(), job),
})

export type Workflow = z.infer<typeof workflow>
export type Job = z.infer<typeof job>

/** @throws Error for what is no workflow, or puts an expression into a script */
export function readWorkflow(text: string): Workflow {
  const read = workflow.parse(parse(text, { strict: true }))
  for (const { steps } of Object.values(read.jobs)) {
    for (const step of steps) {
      if ('run' in step && step.run.includes('$' + '{{'))
        throw new Error(`What somebody typed is in a script: ${step.run}`)
    }
  }
  return read
}

/** What expressions can name: `inputs`, `vars`, `secrets`. */
export type Contexts = Record<string, Record<string, string>>

/** What stands for actions: does what the action does, given what the step has after `with`. */
export type Actions = Record<string, (inputs: Record<string, string>) => void>

export interface JobInput {
  job: Job
  machine: Machine
  contexts: Contexts
  actions: Actions
  /** What a runner sets. */
  env: Record<string, string>
  onStart?: OnStart
}

/** Runs the steps of a job as a runner does. @returns the standard output of all. @throws Error of the step that fails */
export async function runJob({ job, machine, contexts, actions, env, onStart }: JobInput): Promise<string> {
  const fill = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, evaluate(value, contexts)]))
  let output = ''
  for (const [index, step] of job.steps.entries()) {
    if ('uses' in step) {
      const run = actions[step.uses]
      if (!run) throw new Error(`Nothing stands for ${step.uses}.`)
      run(fill(step.with))
      continue
    }
    const file = join(machine.cwd, '..', `step-${index}.sh`)
    writeFileSync(file, step.run)
    output += await machine.execute('bash', ['-e', file], { ...env, ...fill(job.env), ...fill(step.env) }, onStart)
  }
  return output
}

/** A value with its expressions replaced. @throws Error for one that names what is not there */
function evaluate(value: string, contexts: Contexts): string {
  return value.replaceAll(/\$\{\{\s*(.*?)\s*\}\}/g, (_, expression: string) => {
    const [context = '', name = '', ...rest] = expression.split('.')
    const found = rest.length === 0 ? contexts[context]?.[name] : undefined
    if (found === undefined) throw new Error(`There is no ${expression}.`)
    return found
  })
}
