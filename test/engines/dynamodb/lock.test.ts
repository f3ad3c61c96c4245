import { expect, test } from 'vitest'
import { ReadWriteLock } from '../../../local/dynamodb/lock.ts'

/** Runs reads (r) and writes (w) that start in the given order and end one after another; returns what ran together. */
async function schedule(order: string): Promise<string[]> {
  const lock = new ReadWriteLock()
  const running = new Map<number, { kind: string; end: () => void }>()
  const seen: string[] = []
  const all = [...order].map((kind, i) => {
    const work = () => new Promise<void>((end) => running.set(i, { kind, end }))
    return kind === 'w' ? lock.write(work) : lock.read(work)
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  for (;;) {
    await turn()
    const first = [...running.keys()][0]
    if (first === undefined) break
    seen.push([...running].map(([i, { kind }]) => `${kind}${i}`).join('+'))
    running.get(first)?.end()
    running.delete(first)
  }
  await Promise.all(all)
  return seen
}

test('readers run together', async () => {
  expect(await schedule('rrr')).toEqual(['r0+r1+r2', 'r1+r2', 'r2'])
})

test('a writer runs alone, in its turn', async () => {
  expect(await schedule('ww')).toEqual(['w0', 'w1'])
  expect(await schedule('rwr')).toEqual(['r0', 'w1', 'r2'])
  expect(await schedule('rrwrrw')).toEqual(['r0+r1', 'r1', 'w2', 'r3+r4', 'r4', 'w5'])
})

test('a failure releases the lock', async () => {
  const lock = new ReadWriteLock()
  const fail = () => Promise.reject(new Error('broken'))
  await expect(lock.write(fail)).rejects.toThrow('broken')
  await expect(lock.read(fail)).rejects.toThrow('broken')
  expect(await lock.write(async () => 'done')).toBe('done')
})
