import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { EndSignal } from '../../../cli/context.ts'
import type { Timers } from '../../../cli/timers.ts'
import type { SandkeepClient } from '../../../client/index.ts'
import type { Scope } from '../../../src/tenancy/scope.ts'
import { startTestApi, type TestApi } from '../../http/support/api.ts'
import { type CommandOptions, type Outcome, runCommand } from './command.ts'
import { temporaryFolder } from './tree.ts'

/** Timers that run out when a test says so. */
export class ManualTimers implements Timers {
  readonly #timers = new Map<number, Set<() => void>>()

  every(milliseconds: number, work: () => void): () => void {
    return this.after(milliseconds, work)
  }

  after(milliseconds: number, work: () => void): () => void {
    const works = this.#timers.get(milliseconds) ?? new Set()
    this.#timers.set(milliseconds, works.add(work))
    return () => works.delete(work)
  }

  /** Lets those of so many milliseconds run out. */
  fire(milliseconds: number): void {
    const works = [...(this.#timers.get(milliseconds) ?? [])]
    if (works.length === 0) throw new Error(`No timer of ${milliseconds} ms.`)
    for (const work of works) work()
  }
}

/** A scope of its own on the API, and folders for the machines that run things in it. */
export class RunWorld {
  readonly scope: Scope
  readonly client: SandkeepClient
  readonly base = temporaryFolder()
  readonly timers = new ManualTimers()
  readonly #api: TestApi
  #send: ((signal: EndSignal) => void) | undefined

  constructor(api: TestApi) {
    this.#api = api
    this.scope = api.engines.freshScope()
    this.client = api.client(this.scope)
    for (const name of ['tmp', 'home']) mkdirSync(join(this.base, name))
  }

  path(name: string): string {
    return join(this.base, name)
  }

  /** The temporary folder of all runs. */
  get tmp(): string {
    return this.path('tmp')
  }

  /** Sends the run that was started last a signal. */
  signal(signal: EndSignal): void {
    if (!this.#send) throw new Error('No run has taken the signals.')
    this.#send(signal)
  }

  command(args: string[], options: Partial<CommandOptions> = {}): Promise<Outcome> {
    return runCommand(args, {
      client: this.client,
      cwd: this.base,
      home: this.path('home'),
      timers: this.timers,
      onTakeSignals: (send) => {
        this.#send = send
      },
      ...options,
      env: { PATH: process.env.PATH ?? '', TMPDIR: this.tmp, ...options.env },
    })
  }

  /** Another client of the scope, some of whose methods are others. */
  clientWith<Service extends 'sandboxes' | 'memory' | 'blobs'>(
    service: Service,
    methods: Partial<SandkeepClient[Service]>,
  ): SandkeepClient {
    const client = this.#api.client(this.scope)
    Object.assign(client[service], methods)
    return client
  }

  /** The text of an artifact of the task `t`; empty where there is none. */
  async artifact(turn: number, name: string): Promise<string> {
    const found = await this.client.memory.getArtifact({ taskId: 't', turn, name })
    return found ? new Response(found.stream()).text() : ''
  }

  /** `sandkeep run` of a shell script. */
  run(script: string, args: string[] = [], options: Partial<CommandOptions> = {}): Promise<Outcome> {
    return this.command(['run', '--task', 't', ...args, '--', 'sh', '-c', script], options)
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true })
  }
}

/** Starts an API for the tests of a file. @param take given, before each test, a world of its own on it */
export function eachInWorld(take: (world: RunWorld, api: TestApi) => void): void {
  let api: TestApi
  beforeAll(async () => {
    api = await startTestApi()
  })
  afterAll(() => api.stop())
  beforeEach(() => {
    const world = new RunWorld(api)
    take(world, api)
    return () => world.remove()
  })
}
