import { expect } from 'vitest'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import { expectRefused, expectRejected, expectUnchanged } from './assertions.ts'
import { check, type Subject } from './check.ts'
import { artifact, artifactKey, checkpoint, file, fileKey, wrong } from './fixtures.ts'

const invalidPaths = [
  ...['', 7, undefined, 'a\0b', 'a\\b', '/a', 'C:', 'c:/x', 'a//b', 'a/', '.', './a', 'a/.', '..', '../a', 'a/../b'],
]

const invalidFields: Record<string, unknown[]> = {
  blobKey: [
    undefined,
    7,
    fileKey(1).toUpperCase(),
    fileKey(1).replace('abcdef', 'ABCDEF'),
    fileKey(1).slice(0, -1),
    `${fileKey(1)}a`,
    `${fileKey(1)}\n`,
    ` ${fileKey(1)}`,
    `${fileKey(1).slice(0, -1)}\ud800`,
    artifactKey(1),
  ],
  size: [undefined, null, '1', -1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1],
  mode: [null, '755', -1, 1.5, 0o10000, Number.NaN],
  kind: [undefined, null, 'other', 'File'],
}

const invalidFileLists: Record<string, unknown> = {
  'files null': null,
  'files undefined': undefined,
  'files a string': 'a',
  'files an object': {},
  'entry null': [null],
  'entry a string': ['a'],
  'entry an array': [[]],
  'entry of an unknown kind': [{ path: 'a', kind: 'fifo' }],
  'entry of no kind': [{ path: 'a' }],
  'dir with a blobKey': [{ path: 'a', kind: 'dir', blobKey: fileKey(1) }],
  'dir with a size': [{ path: 'a', kind: 'dir', size: 0 }],
  'dir with a size undefined': [{ path: 'a', kind: 'dir', size: undefined }],
  'dir with a bad path': [{ path: 'a/', kind: 'dir' }],
  'symlink without a target': [{ path: 'a', kind: 'symlink' }],
  'symlink to nothing': [{ path: 'a', kind: 'symlink', target: '' }],
  'symlink to a number': [{ path: 'a', kind: 'symlink', target: 7 }],
  'symlink with NUL': [{ path: 'a', kind: 'symlink', target: 'b\0' }],
  'symlink with a blobKey': [{ path: 'a', kind: 'symlink', target: 'b', blobKey: fileKey(1) }],
  'symlink with a size': [{ path: 'a', kind: 'symlink', target: 'b', size: 1 }],
  'symlink with a bad path': [{ path: '../a', kind: 'symlink', target: 'b' }],
  'second entry bad': [file('a'), { ...file('b'), size: -1 }],
  'path twice': [file('a'), file('b'), file('a')],
  'path as dir and file': [{ path: 'a', kind: 'dir' }, file('a')],
  'path as two dirs': [
    { path: 'a', kind: 'dir' },
    { path: 'a', kind: 'dir' },
  ],
  'path as file and symlink': [file('a'), { path: 'a', kind: 'symlink', target: 'b' }],
  'beneath a file': [file('a'), file('a/b')],
  'file above an entry': [file('a/b'), file('a')],
  'far beneath a file': [file('a'), { path: 'a/b/c', kind: 'dir' }],
  'beneath a symlink': [{ path: 'a', kind: 'symlink', target: 'b' }, file('a/b')],
  'symlink above an entry': [file('x/a/b/c'), { path: 'x/a', kind: 'symlink', target: 'b' }],
}

const invalidArtifactFields: Record<string, unknown[]> = {
  artifactId: ['', undefined, 7, '\ud800'],
  name: ['', undefined, 7],
  mimeType: ['', undefined, 7],
  blobKey: [undefined, fileKey(1), artifactKey(1).replace('abcdef', 'ABCDEF'), `${artifactKey(1)}\n`],
  size: [undefined, '1', -1, 1.5],
  createdAt: [undefined, '1', Number.NaN, Number.POSITIVE_INFINITY],
}

/** Each of these fields makes an append INVALID_ENTRY, and none of them changes the store. */
async function expectAllInvalid({ store }: Subject, cases: Array<[string, Record<string, unknown>]>): Promise<void> {
  const writer = await store.acquireWriter('t')
  await expectUnchanged(store, ['t'], ['a'], async () => {
    for (const [what, fields] of cases) {
      const broken = { ...checkpoint('t', 'a', null), ...wrong<Partial<SandboxCheckpoint>>(fields) }
      await expectRefused('INVALID_ENTRY', store.append({ checkpoint: broken, expectedHeadId: null, writer }), what)
    }
  })
}

async function expectKept({ store }: Subject, fields: Partial<SandboxCheckpoint>): Promise<void> {
  const writer = await store.acquireWriter('t')
  const kept = checkpoint('t', 'a', null, fields)
  await store.append({ checkpoint: kept, expectedHeadId: null, writer })
  expect(await store.get('a')).toEqual(kept)
  expect(await store.list('t')).toEqual([kept])
}

export const entryChecks = [
  check('entries: a path is relative, with / between parts that name something', (subject) =>
    expectAllInvalid(
      subject,
      invalidPaths.map((path) => [`path ${JSON.stringify(path)}`, { files: [{ ...file('x'), path }] }]),
    ),
  ),

  check('entries: a file has a kind, a file key, a size and perhaps a mode', (subject) =>
    expectAllInvalid(
      subject,
      Object.entries(invalidFields).flatMap(([field, values]) =>
        values.map((value): [string, Record<string, unknown>] => [
          `${field} ${String(value)}`,
          { files: [{ ...file('a'), [field]: value }] },
        ]),
      ),
    ),
  ),

  check('entries: directories and symlinks have no blob, and nothing is beneath a file or a symlink', (subject) =>
    expectAllInvalid(
      subject,
      Object.entries(invalidFileLists).map(([what, files]) => [what, { files }]),
    ),
  ),

  check('entries: files, directories and symlinks with any other path, mode and target are kept', (subject) =>
    expectKept(subject, {
      files: [
        file('C:foo', 1),
        file('a/C:/x', 2),
        file(' two  spaces \n', 3),
        file('\ud800', 4),
        file('\udc00', 5),
        file('...', 6),
        file('.hidden/..x', 7),
        { ...file('plain'), mode: 0, size: 0 },
        { ...file('setuid'), mode: 0o7777, size: Number.MAX_SAFE_INTEGER },
        file('dir/child'),
        { path: 'dir', kind: 'dir' },
        { path: 'dir/empty', kind: 'dir' },
        file('n'),
        file('n-m/x'),
        file('n.o'),
        file('__proto__'),
        { path: 'up', kind: 'symlink', target: '../../etc' },
        { path: 'root', kind: 'symlink', target: '/\\ \ud800' },
        { ...file('more'), ...wrong<object>({ extra: { deep: [1, null] } }) },
      ],
    }),
  ),

  check('artifacts: each has an id, a name, a type, an artifact key, a size and a time', (subject) =>
    expectAllInvalid(subject, [
      ...[null, undefined, {}, 'a', [null], ['a']].map((artifacts): [string, Record<string, unknown>] => [
        `artifacts ${JSON.stringify(artifacts)}`,
        { artifacts },
      ]),
      ...Object.entries(invalidArtifactFields).flatMap(([field, values]) =>
        values.map((value): [string, Record<string, unknown>] => [
          `artifact ${field} ${String(value)}`,
          { artifacts: [artifact(1), { ...artifact(2), [field]: value }] },
        ]),
      ),
    ]),
  ),

  check('artifacts: equal ids, unusual names, zero sizes, fractional times and further fields are kept', (subject) =>
    expectKept(subject, {
      artifacts: [
        artifact(1, 'same'),
        { ...artifact(2, 'same'), size: 0, createdAt: -0.5 },
        { ...artifact(3), name: 'lone \udfff', ...wrong<object>({ extra: true }) },
      ],
    }),
  ),

  check('createdAt: only a finite number is accepted', (subject) =>
    expectAllInvalid(
      subject,
      [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '1', null, undefined].map((createdAt) => [
        `createdAt ${String(createdAt)}`,
        { createdAt },
      ]),
    ),
  ),

  check('values: a bigint or a number that is not finite, however deep, is refused', (subject) =>
    expectAllInvalid(subject, [
      ['bigint', { conversation: [{ parts: [{ n: 1n }] }] }],
      ['NaN', { conversation: [{ parts: [[Number.NaN]] }] }],
      ['Infinity', { conversation: [Number.NEGATIVE_INFINITY] }],
    ]),
  ),

  check('values: what cannot be copied is refused', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    await expectUnchanged(store, ['t'], ['a'], async () => {
      for (const fields of [{ conversation: [{ call: () => 1 }] }, { extra: () => 1 }]) {
        const broken = checkpoint('t', 'a', null, wrong(fields))
        const call = store.append({ checkpoint: broken, expectedHeadId: null, writer })
        await expectRejected(call, `a function in ${Object.keys(fields)}`)
      }
    })
  }),

  check('values: lone surrogates, empty strings and large numbers are kept', (subject) =>
    expectKept(subject, {
      label: '\ud83d and \udc00',
      sourceRunId: '',
      createdAt: 1e300,
      conversation: [
        { role: 'tool', content: '\udbff\u0000"\\', empty: '', 'key \ud800': 1 },
        [2 ** 53, 1e21, 1.5e-300, 0.1],
        null,
        'text',
      ],
    }),
  ),

  check('values: an undefined property counts as absent', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const fields = {
      label: undefined,
      sourceRunId: undefined,
      parentCheckpointId: undefined,
      conversation: [{ role: 'user', parts: [{ deep: { none: undefined, some: 1 } }] }],
      files: [{ ...file('a'), mode: undefined }],
    }
    await store.append({ checkpoint: checkpoint('t', 'a', null, wrong(fields)), expectedHeadId: null, writer })
    expect(await store.get('a')).toEqual(
      checkpoint('t', 'a', null, {
        conversation: [{ role: 'user', parts: [{ deep: { some: 1 } }] }],
        files: [file('a')],
      }),
    )
  }),
]
