import { expectTypeOf, test } from 'vitest'
import type * as z from 'zod'
import type { SandboxFile } from '../../client/ai/types.ts'
import type { DownloadsJson } from '../../client/downloads-json.ts'
import type { SandkeepClient } from '../../client/index.ts'
import type { LeaseJson } from '../../client/lease.ts'
import type { ArtifactJson, TaskJson, TurnJson } from '../../client/memory-json.ts'
import type { TurnMeta } from '../../client/memory-types.ts'
import type { ManifestJson, SandboxJson, SnapshotJson } from '../../client/sandboxes-json.ts'
import type * as checkpoints from '../../lambdas/checkpoints/answer-schemas.ts'
import type { file } from '../../lambdas/files/operations.ts'
import type { record as instance } from '../../lambdas/instances/schemas.ts'
import type { keyRecord } from '../../lambdas/keys/operations.ts'
import type * as memory from '../../lambdas/memory/answer-schemas.ts'
import type { shownArtifact, shownTask } from '../../lambdas/memory/answers.ts'
import type { turnMeta } from '../../lambdas/memory/turn-schema.ts'
import type * as sandboxes from '../../lambdas/sandboxes/answer-schemas.ts'
import type { shownSandbox, shownSnapshot } from '../../lambdas/sandboxes/answers.ts'
import type { checkpoint } from '../../lambdas/shared/contract-schemas.ts'

// Held by the compiler: the description of an answer, what the service gives, and what the client reads are the same.

type Described<Schema extends z.ZodType> = z.output<Schema>

/** A name as the client has it. */
type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name

type TimeName = `${string}_at` | 'retain_until'

/** What the client makes of a time. */
type Milliseconds<Time> = Time extends string ? number : Time

/** An answer as the client has it. */
type OfClient<Value> = Value extends readonly (infer Item)[]
  ? OfClient<Item>[]
  : Value extends object
    ? {
        [Name in keyof Value as Camel<Name>]: Name extends TimeName ? Milliseconds<Value[Name]> : OfClient<Value[Name]>
      }
    : Value

/** The names of the fields that a type names; others may be there. */
type Named<Value> = keyof { [Name in keyof Value as string extends Name ? never : Name]: 0 }

type Result<Method> = Method extends (...input: never[]) => Promise<infer Answer> ? NonNullable<Answer> : never

test('the client reads what is described', () => {
  expectTypeOf<Described<typeof memory.artifact>>().toExtend<ArtifactJson>()
  expectTypeOf<Named<Described<typeof memory.artifact>>>().toEqualTypeOf<keyof ArtifactJson>()
  expectTypeOf<Omit<Described<typeof memory.turn>, 'meta'>>().toExtend<Omit<TurnJson, 'meta'>>()
  expectTypeOf<Named<Described<typeof turnMeta>>>().toEqualTypeOf<Named<TurnMeta>>()
  expectTypeOf<Named<Described<typeof memory.turn>>>().toEqualTypeOf<keyof TurnJson>()
  expectTypeOf<Described<typeof memory.task>>().toExtend<TaskJson>()
  expectTypeOf<Named<Described<typeof memory.task>>>().toEqualTypeOf<keyof TaskJson>()
  expectTypeOf<Omit<Described<typeof sandboxes.sandbox>, 'source'>>().toExtend<Omit<SandboxJson, 'source'>>()
  expectTypeOf<Named<Described<typeof sandboxes.sandbox>>>().toEqualTypeOf<keyof SandboxJson>()
  expectTypeOf<Described<typeof sandboxes.snapshot>>().toExtend<SnapshotJson>()
  expectTypeOf<Named<Described<typeof sandboxes.snapshot>>>().toEqualTypeOf<keyof SnapshotJson>()
  expectTypeOf<Named<Described<typeof sandboxes.snapshotManifest>>>().toEqualTypeOf<keyof ManifestJson>()
  expectTypeOf<Described<typeof sandboxes.snapshotDownloads>>().toExtend<DownloadsJson>()
  expectTypeOf<Named<Described<typeof sandboxes.snapshotDownloads>>>().toEqualTypeOf<keyof DownloadsJson>()
  expectTypeOf<Described<typeof checkpoints.lease>>().toExtend<LeaseJson>()
  expectTypeOf<Named<Described<typeof checkpoints.lease>>>().toEqualTypeOf<keyof LeaseJson>()
  expectTypeOf<Described<typeof file>>().toExtend<SandboxFile>()
  expectTypeOf<Named<Described<typeof file>>>().toEqualTypeOf<keyof SandboxFile>()
})

test('the methods of the client give what is described', () => {
  type Key = Result<SandkeepClient['keys']['list']>[number]
  expectTypeOf<keyof Key>().toEqualTypeOf<keyof OfClient<Described<typeof keyRecord>>>()
  expectTypeOf<Omit<OfClient<Described<typeof keyRecord>>, 'revokedAt'>>().toExtend<Omit<Key, 'revokedAt'>>()
  type Usage = Result<SandkeepClient['sweeps']['usage']>
  expectTypeOf<OfClient<Described<typeof checkpoints.usage>>>().toEqualTypeOf<Usage>()
  // What waits is for the metrics alone.
  type Sweep = Omit<Result<SandkeepClient['sweeps']['list']>[number], 'bytesWaiting'>
  type DescribedSweep = OfClient<Described<typeof checkpoints.sweepReport>>
  expectTypeOf<Omit<DescribedSweep, 'sweepId'> & { id: DescribedSweep['sweepId'] }>().toExtend<Sweep>()
  expectTypeOf<keyof Omit<DescribedSweep, 'sweepId'> | 'id'>().toEqualTypeOf<keyof Sweep>()
  type Sandbox = Result<SandkeepClient['sandboxes']['get']>
  expectTypeOf<keyof OfClient<Described<typeof sandboxes.sandbox>>>().toEqualTypeOf<keyof Sandbox>()
  type Snapshot = Result<SandkeepClient['sandboxes']['saveSnapshot']>
  expectTypeOf<OfClient<Described<typeof sandboxes.snapshot>>>().toEqualTypeOf<Snapshot>()
  type Task = Result<SandkeepClient['memory']['getTask']>
  expectTypeOf<OfClient<Described<typeof memory.task>>>().toEqualTypeOf<Omit<Task, 'turns' | 'nextPage'>>()
  type Artifact = Result<SandkeepClient['memory']['putArtifact']>
  expectTypeOf<OfClient<Described<typeof memory.artifact>>>().toEqualTypeOf<Artifact>()
  type Checkpoint = Result<SandkeepClient['checkpoints']['get']>
  expectTypeOf<Named<Described<typeof checkpoint>>>().toEqualTypeOf<keyof Checkpoint>()
  type Instance = Result<SandkeepClient['instances']['get']>
  expectTypeOf<Described<typeof instance>>().toExtend<Instance>()
  expectTypeOf<Named<Described<typeof instance>>>().toEqualTypeOf<keyof Instance>()
})

test('the services give what is described', () => {
  expectTypeOf<ReturnType<typeof shownArtifact>>().toExtend<Described<typeof memory.artifact>>()
  expectTypeOf<ReturnType<typeof shownTask>>().toExtend<Described<typeof memory.task>>()
  expectTypeOf<ReturnType<typeof shownSandbox>>().toExtend<Described<typeof sandboxes.sandbox>>()
  expectTypeOf<ReturnType<typeof shownSnapshot>>().toExtend<Described<typeof sandboxes.snapshot>>()
})
