import { describe, expect, it } from 'vitest'
import { type ClientOptions, createClient } from '../../client/index.ts'
import { answer, refusal, scripted } from './support.ts'

const head = () => answer({ head_id: null })

describe('a token', () => {
  it('stands in the header beside the key, or alone', async () => {
    const both = scripted([head()], { token: 'a.b.c' })
    await both.client.checkpoints.getHead('t')
    expect(both.sent[0]?.headers.get('authorization')).toBe('Bearer a.b.c')
    expect(both.sent[0]?.headers.get('x-api-key')).toBe('key')

    const alone = scripted([head()], { apiKey: undefined, token: 'a.b.c' })
    await alone.client.checkpoints.getHead('t')
    expect(alone.sent[0]?.headers.get('authorization')).toBe('Bearer a.b.c')
    expect(alone.sent[0]?.headers.has('x-api-key')).toBe(false)
  })

  it('is not sent when there is none', async () => {
    const { client, sent } = scripted([head()])
    await client.checkpoints.getHead('t')
    expect(sent[0]?.headers.has('authorization')).toBe(false)
  })

  it.each([
    ['at once', (token: string) => token],
    ['later', async (token: string) => token],
  ])('is asked for before each request, repeats too, and given %s', async (_how, give) => {
    const tokens = ['token-1', 'token-2', 'token-3'].values()
    const { client, sent } = scripted([refusal(503, 'unavailable'), head(), head()], {
      apiKey: undefined,
      token: () => give(tokens.next().value ?? 'none left'),
    })
    await client.checkpoints.getHead('t')
    await client.checkpoints.getHead('t')
    expect(sent.map(({ headers }) => headers.get('authorization'))).toEqual([
      'Bearer token-1',
      'Bearer token-2',
      'Bearer token-3',
    ])
  })

  it('that cannot be had ends the call with the error of its source, and nothing is sent', async () => {
    const failure = new Error('signed out')
    for (const token of [
      () => {
        throw failure
      },
      async () => Promise.reject(failure),
    ]) {
      const { client, sent } = scripted([], { token })
      await expect(client.checkpoints.getHead('t')).rejects.toBe(failure)
      expect(sent).toEqual([])
    }
  })

  it.each(['', 'Bearer a.b.c', 'a\nb', 'é', undefined, 7, null])('that cannot be one is refused: %j', async (token) => {
    const { client, sent } = scripted([], { token: () => token as string })
    await expect(client.checkpoints.getHead('t')).rejects.toMatchObject({ status: 400, field: 'token' })
    expect(sent).toEqual([])
    if (token === undefined) return
    const options = { url: 'http://api.test', token, tenant: 'a', project: 'b' } as ClientOptions
    expect(() => createClient(options)).toThrow(expect.objectContaining({ status: 400, field: 'token' }))
  })

  it('is not told in errors', () => {
    const options = { url: 'http://api.test', token: 'se cret', tenant: 'a', project: 'b' }
    expect(() => createClient(options)).toThrow(expect.not.stringContaining('cret'))
  })
})
