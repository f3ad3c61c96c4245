import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readChain } from '../../src/checkpoints/chain.ts'
import { decodeCheckpoint, encodeCheckpoint, unpackKeys } from '../../src/checkpoints/codec.ts'
import { checkpointAttributes, checkpointName, nameAttributes } from '../../src/checkpoints/items.ts'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import { checkAppend } from '../../src/checkpoints/validate.ts'
import { checkpointKey, idKey, instanceKey, scopeKey, scopeOf, threadHashOf, threadKey } from '../../src/table/keys.ts'
import { compareUtf8, hashText } from '../../src/text.ts'
import { artifact, checkpoint, file } from '../../testkit/checkpoints/fixtures.ts'

/** Any string of UTF-16 code units, half surrogates included. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7f0, max: 0xe010 })), { maxLength: 12 })
  .map((units) => String.fromCharCode(...units))
const wellFormed = fc.string({ unit: 'binary', maxLength: 12 })

describe('text', () => {
  test('is ordered as its UTF-8 bytes are', () => {
    const sign = (value: number) => Math.sign(value)
    fc.assert(
      fc.property(wellFormed, wellFormed, wellFormed, (left, right, common) => {
        const [a, b] = [common + left, common + right]
        expect(sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
        expect(compareUtf8(a, a)).toBe(0)
      }),
      { numRuns: 2_000 },
    )
    expect(['\u{1f600}', '\uffff', 'é', 'a', '', '\u{1f600}a', '\ue000'].sort(compareUtf8)).toEqual([
      '',
      'a',
      'é',
      '\ue000',
      '\uffff',
      '\u{1f600}',
      '\u{1f600}a',
    ])
  })

  test('is hashed by its code units, so that no two texts share a hash', () => {
    expect(hashText('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    expect(hashText('a')).toBe('ffe9aaeaa2a2d5048174df0b80599ef0197ec024c4b051bc9860cff58ef7f9f3')
    const alike = ['\ud800', '\ud801', '\ufffd', '\udc00', 'é', 'e\u0301', 'E\u0301', 'a\0', 'a', '\0a']
    expect(new Set(alike.map(hashText)).size).toBe(alike.length)
  })
})

const hex = fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 64, maxLength: 64 }).map((digits) => {
  return digits.map((digit) => digit.toString(16)).join('')
})
/** Few hashes, so that they are used more than once, by files and artifacts alike. */
const hash = fc.oneof(fc.constantFrom('0'.repeat(64), 'f'.repeat(64), `${'0'.repeat(63)}1`), hex)
const json = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  anyText,
  fc.constantFrom(
    -0,
    1e21,
    5e-324,
    Number.MAX_VALUE,
    2 ** 53 + 2,
    0.1,
    JSON.parse('{"__proto__":{"a":-0},"toString":1}'),
  ),
)
const entry = fc.oneof(
  fc.record({ kind: fc.constant('file' as const), hash, size: fc.maxSafeNat(), extra: json }),
  fc.record({ kind: fc.constant('dir' as const), extra: json }),
  fc.record({ kind: fc.constant('symlink' as const), target: anyText, extra: json }),
)
const anyCheckpoint = fc
  .record({
    entries: fc.array(entry, { maxLength: 8 }),
    artifacts: fc.array(fc.record({ hash, size: fc.maxSafeNat(), name: anyText }), { maxLength: 5 }),
    conversation: fc.array(json, { maxLength: 4 }),
    createdAt: fc.double({ noNaN: true, noDefaultInfinity: true }),
    label: anyText,
    id: wellFormed.filter((text) => text !== ''),
    parent: fc.option(wellFormed.filter((text) => text !== '')),
    extra: json,
  })
  .map(({ entries, artifacts, id, parent, extra, ...fields }): SandboxCheckpoint => {
    const files = entries.map((one, index) => {
      const path = `entry ${index}`
      if (one.kind !== 'file') return { ...one, path, ...(one.kind === 'symlink' && { target: `x${one.target}` }) }
      const { hash: fileHash, ...rest } = one
      return { ...rest, path, blobKey: `sandbox-files/sha256/${fileHash}` }
    })
    return {
      ...checkpoint('t', id, parent, fields),
      files: files as SandboxCheckpoint['files'],
      artifacts: artifacts.map((one, index) => ({
        ...artifact(index),
        size: one.size,
        name: `x${one.name}`,
        blobKey: `sandbox-artifacts/sha256/${one.hash}`,
      })),
      ...({ extra } as object),
    }
  })

describe('a stored checkpoint', () => {
  test('is read as it was written, whatever JSON values it has', () => {
    fc.assert(
      fc.property(anyCheckpoint, (sent) => {
        const before = structuredClone(sent)
        const encoded = encodeCheckpoint(sent)
        const read = decodeCheckpoint(encoded)
        expect(sent).toStrictEqual(before)
        expect(read).toStrictEqual(sent)
        expect(Object.keys(read)).toEqual(Object.keys(sent))
        const used = sent.files.flatMap((one) => (one.kind === 'file' ? [one.blobKey] : []))
        const distinct = new Set([...used, ...sent.artifacts.map(({ blobKey }) => blobKey)])
        const keys = unpackKeys(encoded.keys, encoded.fileKeys)
        expect(keys).toHaveLength(distinct.size)
        expect(new Set(keys)).toEqual(distinct)
        expect(encoded.fileKeys + encoded.artifactKeys).toBe(distinct.size)
      }),
      { numRuns: 500 },
    )
  })

  test('counts about as many bytes as its JSON has', () => {
    const sent = checkpoint('t', 'a', null, {
      files: Array.from({ length: 50 }, (_, n) => file(`f-${n}`, n % 7)),
      artifacts: [artifact(1)],
      conversation: ['x'.repeat(10_000)],
    })
    const { jsonBytes } = encodeCheckpoint(sent)
    expect(Math.abs(jsonBytes / JSON.stringify(sent).length - 1)).toBeLessThan(0.1)
  })

  test('is checked without a hang, however deep or long its paths are', () => {
    const deep = Array.from({ length: 50_000 }, () => 'd').join('/')
    const files = [file(deep), file(`${deep}x`, 2), { path: 'd', kind: 'dir' as const }]
    const writer = { threadId: 't', ownerToken: 'o', fence: 1 }
    checkAppend({ checkpoint: checkpoint('t', 'a', null, { files }), expectedHeadId: null, writer })
    const beneath = [file(deep), file(`${deep}/x`, 2)]
    expect(() =>
      checkAppend({ checkpoint: checkpoint('t', 'a', null, { files: beneath }), expectedHeadId: null, writer }),
    ).toThrow('beneath')
  })
})

describe('keys of the table', () => {
  const scopeName = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,6}$/)
  test('differ for different things, are short, and tell their thread and scope', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(scopeName, scopeName), { maxLength: 6 }),
        fc.array(anyText, { maxLength: 4 }),
        (names, texts) => {
          const scopes = [...new Set(names.map((pair) => pair.join('/')))].map((pair) => {
            const [tenant = '', project = ''] = pair.split('/')
            return { tenant, project }
          })
          const hashes = [...new Set(texts)].map(hashText)
          const keys = scopes.flatMap((scope) => [
            scopeKey(scope),
            ...hashes.flatMap((one) => [
              threadKey(scope, one),
              checkpointKey(scope, one, 1),
              checkpointKey(scope, one, Number.MAX_SAFE_INTEGER),
              idKey(scope, one),
              instanceKey(scope, one),
            ]),
          ])
          expect(new Set(keys.map((key) => JSON.stringify(key))).size).toBe(keys.length)
          for (const { pk, sk } of keys) expect(pk.length <= 2_048 && sk.length <= 1_024).toBe(true)
          for (const scope of scopes) expect(scopeOf(scopeKey(scope).sk)).toEqual(scope)
          for (const one of hashes) {
            for (const scope of scopes) expect(threadHashOf(checkpointKey(scope, one, 7).sk)).toBe(one)
          }
        },
      ),
    )
  })

  test('of a thread sort as the thread, then its checkpoints by number', () => {
    const scope = { tenant: 'a', project: 'b' }
    const one = hashText('t')
    const sorted = [
      threadKey(scope, one),
      ...[1, 2, 9, 10, 99, 1e6, 2 ** 53 - 1].map((n) => checkpointKey(scope, one, n)),
    ]
    expect(sorted.map(({ sk }) => sk).sort()).toEqual(sorted.map(({ sk }) => sk))
  })
})

describe('a chain', () => {
  const scope = { tenant: 'a', project: 'b' }
  const threadHash = hashText('t')
  const name = (n: number) => checkpointName(n, hashText(`${n}`), `${n}`)
  const encoded = encodeCheckpoint(checkpoint('t', 'a', null))

  /** The items of a thread with these checkpoints, each the parent of the next. */
  function items(numbers: number[], { mark = 0, sequence = 0 } = {}) {
    const head = numbers.at(-1)
    const state = {
      ...threadKey(scope, threadHash),
      ...{ fence: 1, mark, live: numbers.length, version: 1, seq: Math.max(sequence, head ?? 0) },
      ...(head !== undefined && nameAttributes('head', name(head))),
    }
    const checkpoints = numbers.map((n, index) => {
      const parent = numbers[index - 1]
      const attributes = checkpointAttributes(
        name(n),
        parent === undefined ? undefined : name(parent),
        encoded,
        undefined,
      )
      return { ...checkpointKey(scope, threadHash, n), ...attributes }
    })
    return { state, checkpoints, all: [state, ...checkpoints] }
  }
  const numbersOf = (chain: ReturnType<typeof readChain>) => chain?.checkpoints.map(({ sequence }) => sequence)

  test('is what lies between the mark and the head; older items are dead', () => {
    expect(readChain([])).toBeUndefined()
    expect(numbersOf(readChain(items([]).all))).toEqual([])
    expect(numbersOf(readChain(items([1, 2, 5]).all))).toEqual([1, 2, 5])
    const pruned = readChain(items([1, 2, 5, 6], { mark: 5 }).all)
    expect(numbersOf(pruned)).toEqual([5, 6])
    expect(pruned?.dead.map(({ sequence }) => sequence)).toEqual([1, 2])
  })

  test('is read past items that are newer than the thread item', () => {
    const later = items([1, 2, 3, 4])
    expect(numbersOf(readChain([items([1, 2]).state, ...later.checkpoints]))).toEqual([1, 2])
  })

  test('is not made of items of different instants', () => {
    const { state, checkpoints } = items([1, 2, 3, 4])
    for (let missing = 0; missing < 4; missing++) {
      expect(readChain([state, ...checkpoints.toSpliced(missing, 1)]), `without ${missing}`).toBeUndefined()
    }
    // 4 was deleted and 5 appended after the thread item was read.
    expect(readChain([state, ...items([1, 2, 3, 5]).checkpoints])).toBeUndefined()
    // The head was deleted, and another came in its place, of which the thread item does not know.
    expect(readChain([items([1, 2], { sequence: 3 }).state, ...items([1, 2, 3]).checkpoints])).toBeUndefined()
    // A prune has moved the mark and cleared away since.
    expect(readChain([state, ...checkpoints.slice(2)])).toBeUndefined()
    expect(numbersOf(readChain([items([1, 2, 3, 4], { mark: 3 }).state, ...checkpoints.slice(2)]))).toEqual([3, 4])
  })

  test('of any history is read right, or not at all, from a thread item and checkpoints of other instants', () => {
    const moves = fc.array(fc.constantFrom('append', 'append', 'append', 'deleteHead', 'prune'), { maxLength: 14 })
    fc.assert(
      fc.property(moves, fc.nat(), fc.array(fc.nat(), { minLength: 16, maxLength: 16 }), (history, first, later) => {
        // Every instant: the thread item, and the checkpoint items by number.
        let numbers: number[] = []
        let mark = 0
        let sequence = 0
        const instants = [{ numbers, mark, sequence, stored: new Map<number, object>() }]
        for (const move of history) {
          const stored = new Map(instants.at(-1)?.stored)
          if (move === 'append') {
            sequence += 1
            const parent = numbers.at(-1)
            const attributes = checkpointAttributes(
              name(sequence),
              parent === undefined ? undefined : name(parent),
              encoded,
              undefined,
            )
            stored.set(sequence, { ...checkpointKey(scope, threadHash, sequence), ...attributes })
            numbers = [...numbers, sequence]
          } else if (move === 'deleteHead') {
            stored.delete(numbers.at(-1) ?? 0)
            numbers = numbers.slice(0, -1)
          } else if (numbers.length > 1) {
            for (const n of numbers.slice(0, -1)) stored.delete(n)
            numbers = numbers.slice(-1)
            mark = numbers[0] ?? 0
          }
          instants.push({ numbers, mark, sequence, stored })
        }
        // The query sees the thread item at one instant, and each checkpoint at that one or a later one.
        let at = first % instants.length
        const start = instants[at]
        const read: object[] = [
          items(start?.numbers ?? [], { mark: start?.mark ?? 0, sequence: start?.sequence ?? 0 }).state,
        ]
        for (let n = 1; n <= sequence; n++) {
          at = Math.min(instants.length - 1, at + ((later[n] ?? 0) % 2))
          const item = instants[at]?.stored.get(n)
          if (item) read.push(item)
        }
        const chain = readChain(read as Parameters<typeof readChain>[0])
        if (chain) expect(numbersOf(chain)).toEqual(start?.numbers)
      }),
      { numRuns: 2_000 },
    )
  })
})
