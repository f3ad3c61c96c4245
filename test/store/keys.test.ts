import { QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, describe, expect } from 'vitest'
import { allows, createKeyStore, rightsOf, roleIncludes } from '../../src/keys/store.ts'
import { type CreateKeyInput, RIGHTS, type Right, ROLES } from '../../src/keys/types.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'

const engines = await startEngines()
afterAll(engines.stop)

let time = 1_000
const keys = createKeyStore({ ...engines, now: () => time })
const input: CreateKeyInput = { name: 'ci', role: 'writer', bindings: [{ tenant: 'acme', project: 'web' }] }

describe('an API key', () => {
  check('is known by its text, which is shown once and kept nowhere', async () => {
    const { key, record } = await keys.create(input)
    expect(key).toMatch(/^skp_[0-9a-f]{16}_[0-9a-f]{64}$/)
    expect(record).toEqual({ id: key.slice(4, 20), createdAt: time, rights: [], ...input })
    expect(await keys.verify(key)).toMatchObject(record)
    const { Items } = await engines.dynamodb.send(
      new QueryCommand({
        TableName: engines.tableName,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: 'KEYS' } },
      }),
    )
    expect(JSON.stringify(Items)).not.toContain(key.slice(21))
  })

  check('is numbered in its turn, and no number is given twice', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => keys.create(input)))
    const verified = await Promise.all(made.map(({ key }) => keys.verify(key)))
    const numbers = verified.map((record) => record?.number ?? 0).sort((left, right) => left - right)
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index))
    const next = await keys.verify((await keys.create(input)).key)
    expect(next?.number).toBe((numbers.at(-1) ?? 0) + 1)
  })

  check('is unknown when one digit of it differs', async () => {
    const { key } = await keys.create(input)
    const flipped = (index: number) => `${key.slice(0, index)}${key[index] === '0' ? '1' : '0'}${key.slice(index + 1)}`
    for (const index of [4, 19, 21, key.length - 1]) expect(await keys.verify(flipped(index))).toBeNull()
    const others = ['', 'skp_', `${key}0`, ` ${key}`, `${key}\n`, key.toUpperCase(), key.slice(0, -1), '\0', 'é']
    for (const text of others) expect(await keys.verify(text), text).toBeNull()
    for (const text of [undefined, null, 7, {}]) expect(await keys.verify(text as unknown as string)).toBeNull()
  })

  check('is refused from its revocation on, which keeps the first time', async () => {
    const { key, record } = await keys.create(input)
    const { key: other } = await keys.create(input)
    time = 2_000
    await keys.revoke(record.id)
    time = 3_000
    await keys.revoke(record.id)
    expect(await keys.verify(key)).toBeNull()
    expect(await keys.verify(other)).not.toBeNull()
    expect(await keys.list()).toContainEqual({ ...record, revokedAt: 2_000 })
  })

  check('that is unknown cannot be revoked, whatever its id looks like', async () => {
    for (const id of ['0'.repeat(16), 'x', 'x'.repeat(5_000), '\ud800', 'a#b', '\0']) {
      await expect(keys.revoke(id), id.slice(0, 20)).rejects.toMatchObject({ status: 404 })
    }
    for (const id of ['', undefined, null, 7, ['a']]) {
      await expect(keys.revoke(id as string)).rejects.toMatchObject({ status: 400, field: 'id' })
    }
  })

  check('has the rights that it was given, once each, and none when it is older than they are', async () => {
    const rights: Right[] = ['act_as_sandbox', 'act_for_users', 'act_as_sandbox']
    const { key, record } = await keys.create({ ...input, rights })
    expect(record.rights).toEqual(['act_for_users', 'act_as_sandbox'])
    expect(await keys.verify(key)).toMatchObject(record)
    await engines.dynamodb.send(
      new UpdateItemCommand({
        TableName: engines.tableName,
        Key: { pk: { S: 'KEYS' }, sk: { S: record.id } },
        UpdateExpression: 'REMOVE rights',
      }),
    )
    expect(await keys.verify(key)).toMatchObject({ ...record, rights: [] })
  })

  check('is listed with all others, oldest first', async () => {
    const before = (await keys.list()).length
    const created: string[] = []
    for (let index = 0; index < 5; index++) {
      time += 1
      created.push((await keys.create({ ...input, name: `key ${index}` })).record.id)
    }
    const list = await keys.list()
    expect(list).toHaveLength(before + 5)
    expect(list.slice(-5).map(({ id }) => id)).toEqual(created)
    expect(Object.keys(list[0] ?? {})).not.toContain('hash')
  })

  const bad: Array<[field: string, input: unknown]> = [
    ['name', { ...input, name: '' }],
    ['name', { ...input, name: '  ' }],
    ['name', { ...input, name: 'x'.repeat(129) }],
    ['name', { ...input, name: '\ud800' }],
    ['name', { ...input, name: 7 }],
    ['role', { ...input, role: 'root' }],
    ['role', { ...input, role: undefined }],
    ['bindings', { ...input, bindings: [] }],
    ['bindings', { ...input, bindings: 'acme/web' }],
    ['bindings', { ...input, bindings: Array.from({ length: 101 }, () => input.bindings[0]) }],
    ['bindings[0].tenant', { ...input, bindings: [null] }],
    ['bindings[0].tenant', { ...input, bindings: [{ tenant: '**', project: '*' }] }],
    ['bindings[0].tenant', { ...input, bindings: [{ tenant: 'a*', project: '*' }] }],
    ['bindings[1].project', { ...input, bindings: [...input.bindings, { tenant: 'acme', project: '' }] }],
    ['bindings[0].project', { ...input, bindings: [{ tenant: 'acme', project: 'a#b' }] }],
    ['rights', { ...input, rights: 'act_for_users' }],
    ['rights', { ...input, rights: ['act_for_users', 'root'] }],
  ]
  check('is not made of bad input, and the field is named', async () => {
    const before = (await keys.list()).length
    for (const [field, wrong] of bad) {
      await expect(keys.create(wrong as CreateKeyInput), JSON.stringify(wrong)).rejects.toMatchObject({
        status: 400,
        field,
      })
    }
    expect(await keys.list()).toHaveLength(before)
  })
})

describe('rights', () => {
  check('reach as far as the bindings', () => {
    const bindings = [
      { tenant: 'acme', project: 'web' },
      { tenant: 'acme', project: 'app' },
      { tenant: 'beta', project: '*' },
      { tenant: '*', project: 'shared' },
    ]
    const granted = ['acme/web', 'acme/app', 'beta/web', 'beta/x', 'other/shared']
    const refused = ['acme/other', 'Acme/web', 'acme/webx', 'bet/web', '*/web', 'other/web']
    const scope = (text: string) => {
      const [tenant = '', project = ''] = text.split('/')
      return { tenant, project }
    }
    for (const text of granted) expect(allows(bindings, scope(text)), text).toBe(true)
    for (const text of refused) expect(allows(bindings, scope(text)), text).toBe(false)
  })

  check('beside the role are all for the role platform', () => {
    expect(rightsOf({ role: 'platform', rights: [] })).toEqual(RIGHTS)
    expect(rightsOf({ role: 'project_admin', rights: ['act_as_sandbox'] })).toEqual(['act_as_sandbox'])
    expect(rightsOf({ role: null, rights: [] })).toEqual([])
  })

  check('of a role include those of the roles before it', () => {
    for (const [index, role] of ROLES.entries()) {
      expect(ROLES.filter((needed) => roleIncludes(role, needed))).toEqual(ROLES.slice(0, index + 1))
    }
  })
})
