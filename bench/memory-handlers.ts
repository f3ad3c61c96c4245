import { createHandler } from '../lambdas/memory/handler.ts'
import { BASE } from '../lambdas/memory/routes.ts'
import { createMemoryStore } from '../src/memory/store.ts'
import type { Engines } from '../test/support/engines.ts'
import { type ApiRequest, apiEvent, CONTEXT, measureHandler } from './handler-time.ts'
import { atMost, type BenchResult, type Row } from './harness.ts'
import { RecordedAnswers } from './recorded-answers.ts'

const NOW = 1_760_000_000_000
const TASK = `${BASE}/tasks/{task_id}`
const TURN = `${TASK}/turns/{turn}`
const ARTIFACT = `${TURN}/artifacts/{name}`
const PARAMETERS: Record<string, string> = { task_id: 'task-42', turn: '1', name: 'trajectory.jsonl' }

const META = {
  ...{ agent_id: 'claude-code', model: 'claude-sonnet-4-5', job_id: 'job-123', sandbox_id: 'sbx-abc' },
  ...{ commit: 'abc1234', exit_code: 0, tokens: { input: 1_200, output: 340 }, cost: 0.04 },
}
const TURN_BODY = { meta: META, summary_md: '## Turn 1\nAdded the login form and its tests.' }

/** What the code adds to one request, without the calls of the SDK. */
export async function timeHandlers(engines: Engines): Promise<BenchResult> {
  const config = { ...engines, now: () => NOW }
  const handler = createHandler(config)
  const call = (request: Omit<ApiRequest, 'path'> & { resource: string }) => () =>
    handler(apiEvent({ ...request, ...named(request.resource) }), CONTEXT)
  const requests: Record<string, () => Promise<unknown>> = {
    'PUT turn': call({ method: 'PUT', resource: TURN, body: TURN_BODY }),
    'GET turn': call({ method: 'GET', resource: TURN }),
    'PUT artifact': call({ method: 'PUT', resource: ARTIFACT, body: new Uint8Array(1_000) }),
    'GET artifact': call({ method: 'GET', resource: ARTIFACT }),
    'POST upload': call({ method: 'POST', resource: `${ARTIFACT}/upload`, body: { size_bytes: 5_000_000 } }),
    'GET tasks': call({ method: 'GET', resource: `${BASE}/tasks` }),
    'GET task': call({ method: 'GET', resource: TASK }),
    'DELETE task': call({ method: 'DELETE', resource: TASK }),
  }
  await createMemoryStore({ ...config, scope: { tenant: 'acme', project: 'demo' } }).putTurn({
    taskId: 'task-42',
    turn: 0,
    meta: '{}',
    summary: '',
    by: 'key:bench',
  })
  const answers = new RecordedAnswers([engines.dynamodb, engines.s3])
  const rows: Row[] = []
  for (const [name, run] of Object.entries(requests)) rows.push(await measureHandler(name, answers, run))
  answers.remove()
  return { rows, bars: rows.map((row) => atMost(`${row.request}, p50`, Number(row['p50 ms']), 1, 'ms')) }
}

function named(resource: string): Pick<ApiRequest, 'path' | 'pathParameters'> {
  const used = Object.entries(PARAMETERS).filter(([name]) => resource.includes(`{${name}}`))
  return {
    path: resource.replace(/\{(\w+)\}/g, (_braced, name) => PARAMETERS[name] ?? ''),
    pathParameters: Object.fromEntries(used),
  }
}
