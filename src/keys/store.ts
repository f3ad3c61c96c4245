import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { InvalidInputError, NotFoundError } from '../errors.ts'
import { API_KEYS_PARTITION, apiKeyKey, KEY_COUNT } from '../table/keys.ts'
import { type Item, Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import { isScopeName, type Scope } from '../tenancy/scope.ts'
import {
  type ApiKeyRecord,
  type CreateKeyInput,
  type KeyBinding,
  type KeyLookup,
  type KeyStore,
  RIGHTS,
  type Right,
  ROLES,
  type Role,
} from './types.ts'

export interface KeyStoreConfig {
  dynamodb: DynamoDBClient
  tableName: string
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number
}

const MAX_NAME_LENGTH = 128
const MAX_BINDINGS = 100
const idPattern = /^[0-9a-f]{16}$/
const keyPattern = /^skp_([0-9a-f]{16})_[0-9a-f]{64}$/

/** The record of a key, with its number: how many there were when it was made. Keys from before that have none. */
export type VerifiedKey = ApiKeyRecord & { number?: number }

/** The API keys of the stack. A key is 256 random bits, so its SHA-256 needs no salt; only that is kept. */
export function createKeyStore({ dynamodb, tableName, now = Date.now }: KeyStoreConfig): KeyStore &
  KeyLookup & {
    /** The record of a key's text, or null when the key is unknown or revoked. */
    verify(text: string): Promise<VerifiedKey | null>
  } {
  const table = new Table(dynamodb, tableName)
  return {
    async create(input) {
      checkInput(input)
      const id = randomBytes(8).toString('hex')
      const key = `skp_${id}_${randomBytes(32).toString('hex')}`
      const { name, role, bindings } = input
      const rights = RIGHTS.filter((right) => input.rights?.includes(right))
      const createdAt = now()
      const number = await nextNumber(table)
      await retryTransient(() =>
        table.put({ ...apiKeyKey(id), name, role, bindings, rights, createdAt, number, hash: hashOf(key) }),
      )
      const record: ApiKeyRecord = { id, name, role, bindings, rights, createdAt }
      return { key, record }
    },
    async get(id) {
      if (!idPattern.test(id)) return null
      const item = await retryTransient(() => table.get(apiKeyKey(id)))
      return item ? readRecord(item) : null
    },
    async list() {
      const records: ApiKeyRecord[] = []
      for await (const page of table.query(API_KEYS_PARTITION)) records.push(...page.map(readRecord))
      return records.sort((left, right) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1))
    },
    async revoke(id) {
      if (typeof id !== 'string' || id === '') throw new InvalidInputError('id', 'id must be a non-empty string.')
      if (!idPattern.test(id)) throw new NotFoundError('There is no such key.')
      const { done } = await retryTransient(() =>
        table.update(apiKeyKey(id), {
          expression: 'SET #revokedAt = if_not_exists(#revokedAt, :now)',
          condition: 'attribute_exists(pk)',
          names: { '#revokedAt': 'revokedAt' },
          values: { ':now': now() },
        }),
      )
      if (!done) throw new NotFoundError('There is no such key.')
    },
    async verify(text) {
      const id = keyPattern.exec(text)?.[1]
      if (id === undefined) return null
      const item = await retryTransient(() => table.get(apiKeyKey(id)))
      if (!item || item.revokedAt !== undefined) return null
      if (!timingSafeEqual(Buffer.from(item.hash as Uint8Array), hashOf(text))) return null
      return { ...readRecord(item), ...(item.number !== undefined && { number: item.number as number }) }
    },
  }
}

/** Whether a key's bindings hold the scope. */
export function allows(bindings: readonly KeyBinding[], { tenant, project }: Scope): boolean {
  return bindings.some((binding) => covers(binding.tenant, tenant) && covers(binding.project, project))
}

/** Whether a role may do what `needed` may. */
export function roleIncludes(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}

/** The rights of a role, and those that were given beside it. */
export function rightsOf({ role, rights }: { role: Role | null; rights: readonly Right[] }): readonly Right[] {
  return role === 'platform' ? RIGHTS : rights
}

/** No number is given twice. One whose key was not made after all is left out. */
async function nextNumber(table: Table): Promise<number> {
  const { item } = await retryTransient(() =>
    table.update(KEY_COUNT, {
      expression: 'ADD #count :one',
      names: { '#count': 'count' },
      values: { ':one': 1 },
    }),
  )
  return item?.count as number
}

function covers(bound: string, name: string): boolean {
  return bound === '*' || bound === name
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function readRecord(item: Item): ApiKeyRecord {
  const record: ApiKeyRecord = {
    id: item.sk as string,
    name: item.name as string,
    role: item.role as Role,
    bindings: item.bindings as KeyBinding[],
    // Keys that were made before there were rights have none.
    rights: (item.rights ?? []) as Right[],
    createdAt: item.createdAt as number,
  }
  if (item.revokedAt !== undefined) record.revokedAt = item.revokedAt as number
  return record
}

function checkInput({ name, role, bindings, rights = [] }: CreateKeyInput): void {
  if (typeof name !== 'string' || name.trim() === '' || name.length > MAX_NAME_LENGTH || !name.isWellFormed()) {
    throw new InvalidInputError('name', `name must be 1 to ${MAX_NAME_LENGTH} characters.`)
  }
  if (!ROLES.includes(role)) throw new InvalidInputError('role', `role must be one of ${ROLES.join(', ')}.`)
  if (!Array.isArray(bindings) || bindings.length === 0 || bindings.length > MAX_BINDINGS) {
    throw new InvalidInputError('bindings', `bindings must have 1 to ${MAX_BINDINGS} members.`)
  }
  for (const [index, binding] of bindings.entries()) {
    for (const part of ['tenant', 'project'] as const) {
      const value = binding?.[part]
      if (value === '*' || isScopeName(value)) continue
      throw new InvalidInputError(`bindings[${index}].${part}`, `bindings[${index}].${part} must be a ${part} or *.`)
    }
  }
  if (!Array.isArray(rights) || !rights.every((right) => RIGHTS.includes(right))) {
    throw new InvalidInputError('rights', `rights must be a list of ${RIGHTS.join(', ')}.`)
  }
}
