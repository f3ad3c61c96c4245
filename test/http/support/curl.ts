// Does what curl does with the few options that the examples of the API use, where there is no curl.
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: 'boolean', short: 's' },
    'show-error': { type: 'boolean', short: 'S' },
    include: { type: 'boolean', short: 'i' },
    location: { type: 'boolean', short: 'L' },
    request: { type: 'string', short: 'X' },
    header: { type: 'string', short: 'H', multiple: true },
    data: { type: 'string', short: 'd' },
    'data-binary': { type: 'string' },
  },
})
const given = values.data ?? values['data-binary']
const body = given?.startsWith('@') ? await readFile(given.slice(1)) : given
const headers = new Headers(values.header?.map((line) => line.split(/:\s*/, 2) as [string, string]))
if (body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/x-www-form-urlencoded')
const response = await fetch(positionals[0] ?? '', {
  method: values.request ?? (body === undefined ? 'GET' : 'POST'),
  headers,
  redirect: values.location ? 'follow' : 'manual',
  ...(body !== undefined && { body }),
})
if (values.include) {
  const lines = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`)
  process.stdout.write(`HTTP/1.1 ${response.status}\r\n${lines.join('')}\r\n`)
}
process.stdout.write(new Uint8Array(await response.arrayBuffer()))
