import { describe, expect, it } from 'vitest'
import { type ClientOptions, createClient } from '../../client/index.ts'
import { InvalidInputError } from '../../src/errors.ts'

const good: ClientOptions = { url: 'https://api.test/stage', apiKey: 'key', tenant: 'acme', project: 'web' }

describe('createClient', () => {
  it.each([
    {},
    { url: 'http://127.0.0.1:4566' },
    { url: 'https://api.test/stage/' },
    { timeoutMs: 1 },
    { tenant: 'A', project: '9.x_y-z' },
  ])('takes %j', (change) => {
    expect(createClient({ ...good, ...change })).toHaveProperty('checkpoints')
  })

  it.each([
    [{ url: undefined }, 'url'],
    [{ url: '' }, 'url'],
    [{ url: 'api.test' }, 'url'],
    [{ url: 'ftp://api.test' }, 'url'],
    [{ url: 'https://user:secret@api.test' }, 'url'],
    [{ url: 'https://api.test/?a=1' }, 'url'],
    [{ url: 'https://api.test/#a' }, 'url'],
    [{ apiKey: undefined }, 'apiKey'],
    [{ apiKey: '' }, 'apiKey'],
    [{ apiKey: 'two words' }, 'apiKey'],
    [{ apiKey: 'line\nbreak' }, 'apiKey'],
    [{ tenant: undefined }, 'X-Sandbox-Tenant-Id'],
    [{ tenant: '../x' }, 'X-Sandbox-Tenant-Id'],
    [{ project: '' }, 'X-Sandbox-Project-Id'],
    [{ project: 'a b' }, 'X-Sandbox-Project-Id'],
    [{ timeoutMs: 0 }, 'timeoutMs'],
    [{ timeoutMs: Number.NaN }, 'timeoutMs'],
    [{ timeoutMs: 1.5 }, 'timeoutMs'],
  ])('refuses %j, naming %s', (change, field) => {
    const make = () => createClient({ ...good, ...change } as ClientOptions)
    expect(make).toThrow(InvalidInputError)
    expect(make).toThrow(expect.objectContaining({ field }))
  })

  it('does not tell the key or a password in its errors', () => {
    for (const change of [{ apiKey: 'se cret' }, { url: 'https://u:se cret@api.test' }]) {
      expect(() => createClient({ ...good, ...change })).toThrow(expect.not.stringContaining('cret'))
    }
  })
})
