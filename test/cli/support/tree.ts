import { createHash } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A file's text or bytes (with a mode), a folder, or a link. */
export type Node = string | Buffer | { text: string | Buffer; mode: number } | { dir: true } | { link: string }

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'sandkeep-cli-'))
}

/** Makes what is listed by path, after taking away `without`. */
export function makeTree(root: string, nodes: Record<string, Node>, without: string[] = []): string {
  mkdirSync(root, { recursive: true })
  for (const path of without) rmSync(join(root, path), { recursive: true })
  for (const [path, node] of Object.entries(nodes)) {
    const full = join(root, path)
    mkdirSync(dirname(full), { recursive: true })
    if (typeof node === 'string' || Buffer.isBuffer(node)) writeFileSync(full, node)
    else if ('dir' in node) mkdirSync(full, { recursive: true })
    else if ('link' in node) symlinkSync(node.link, full)
    else {
      writeFileSync(full, node.text)
      chmodSync(full, node.mode)
    }
  }
  return root
}

/** Every entry of a folder, as one comparable line each: kind, mode, hash or target. */
export function readTree(root: string, folder = ''): Record<string, string> {
  const lines: Record<string, string> = {}
  for (const name of readdirSync(join(root, folder)).sort()) {
    const path = folder === '' ? name : `${folder}/${name}`
    const stats = lstatSync(join(root, path))
    if (stats.isSymbolicLink()) lines[path] = `link ${readlinkSync(join(root, path))}`
    else if (stats.isDirectory()) Object.assign(lines, { [path]: 'dir' }, readTree(root, path))
    else if (stats.isFile()) lines[path] = `file ${(stats.mode & 0o7777).toString(8)} ${hash(join(root, path))}`
    else lines[path] = 'special'
  }
  return lines
}

function hash(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
