import type { AnthropicConnection } from '../../../src/anthropic/connection.ts'
import { userOwner } from '../../../src/files/items.ts'
import { createFileStore } from '../../../src/files/store.ts'
import { type FilesSweepInput, sweepFiles } from '../../../src/files/sweep.ts'
import type { FileStore, NewFile } from '../../../src/files/types.ts'
import { Table } from '../../../src/table/table.ts'
import type { Scope } from '../../../src/tenancy/scope.ts'
import { type Engines, startEngines } from '../../support/engines.ts'

/** An hour, a day in milliseconds. */
export const HOUR = 3_600_000
export const DAY = 24 * HOUR

export const start: () => Promise<Engines> = startEngines

export interface World {
  scope: Scope
  /** Of the table's times. */
  clock: { now: number }
  /** The store of a user. */
  files(user?: string, options?: { scope?: Scope; filesBackend?: 's3' | 'anthropic' }): FileStore
  sweep(more?: Partial<FilesSweepInput>): ReturnType<typeof sweepFiles>
  leftovers: unknown[]
}

/** A scope that nothing has used yet. */
export function world(engines: Engines, anthropic?: AnthropicConnection): World {
  const scope = engines.freshScope()
  const clock = { now: Date.now() }
  const leftovers: unknown[] = []
  const common = {
    ...engines,
    anthropic,
    now: () => clock.now,
    onLeftover: (error: unknown) => leftovers.push(error),
  }
  return {
    scope,
    clock,
    leftovers,
    files: (user = 'ann', { scope: other = scope, filesBackend = anthropic && 'anthropic' } = {}) =>
      createFileStore({ ...common, scope: other, user: userOwner(user), filesBackend }),
    sweep: (more = {}) =>
      sweepFiles({
        ...common,
        scope,
        table: new Table(engines.dynamodb, engines.tableName),
        timeIsUp: () => false,
        ...more,
      }),
  }
}

export function newFile(more: Partial<NewFile & { bytes: Uint8Array }> = {}): NewFile & { bytes: Uint8Array } {
  return {
    filename: 'a.txt',
    mimeType: 'text/plain',
    scope: 'user',
    fromSandbox: false,
    bytes: Buffer.from('hello'),
    ...more,
  }
}

/** All bytes of an opened file. */
export async function contentOf(store: FileStore, id: string): Promise<Buffer> {
  const { content } = await store.open(id)
  if (content.kind === 'redirect') {
    const answer = await fetch(content.url)
    return Buffer.from(await answer.arrayBuffer())
  }
  const chunks: Uint8Array[] = []
  for await (const piece of content.pieces) chunks.push(piece)
  return Buffer.concat(chunks)
}

/** All pages of a user's list. */
export async function listed(store: FileStore, limit?: number): Promise<string[]> {
  const ids: string[] = []
  let page: string | undefined
  do {
    const { files, nextPage } = await store.list({ limit, page })
    ids.push(...files.map(({ id }) => id))
    page = nextPage ?? undefined
  } while (page !== undefined)
  return ids
}
