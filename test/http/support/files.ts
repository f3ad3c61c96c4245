import type { Scope } from '../../../src/tenancy/scope.ts'

export const FILES = '/sandbox/files/v1'

export interface FileAnswer {
  status: number
  headers: Headers
  bytes: Buffer
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: the bodies of answers differ, and the tests look into them.
  json: any
}

export interface FileRequest {
  /** An object becomes JSON. */
  json?: unknown
  /** Sent as it is, of the type of its own. */
  form?: Form
  headers?: Record<string, string>
}

export type FileCall = (method: string, path?: string, request?: FileRequest) => Promise<FileAnswer>

export interface Target {
  url: string
  fetch?: typeof globalThis.fetch
}

/** Calls of the routes of files; the path is below the service's own. Redirects are answers. */
export function fileCaller(
  { url, fetch = globalThis.fetch }: Target,
  scope: Scope,
  who: Record<string, string>,
): FileCall {
  return async (method, path = '', { json, form, headers } = {}) => {
    const body = form?.bytes ?? (json === undefined ? undefined : JSON.stringify(json))
    const response = await fetch(`${url}${FILES}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        'x-sandbox-tenant-id': scope.tenant,
        'x-sandbox-project-id': scope.project,
        ...who,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...(form && { 'content-type': form.type }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    const text = bytes.toString()
    const isJson = response.headers.get('content-type') === 'application/json' && text !== ''
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    }
  }
}

export interface Form {
  type: string
  bytes: Uint8Array<ArrayBuffer>
}

export interface Part {
  /** What stands behind `form-data; ` in the part's disposition. */
  disposition: string
  type?: string
  content: string | Uint8Array
}

const BOUNDARY = 'a-boundary-of-the-tests'

/** A form as it goes over the wire, to the byte. */
export function rawForm(...parts: Part[]): Form {
  const chunks = parts.flatMap(({ disposition, type, content }) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n`),
    Buffer.from(type === undefined ? '\r\n' : `Content-Type: ${type}\r\n\r\n`),
    Buffer.from(content as Uint8Array),
    Buffer.from('\r\n'),
  ])
  return {
    type: `multipart/form-data; boundary=${BOUNDARY}`,
    bytes: new Uint8Array(Buffer.concat([...chunks, Buffer.from(`--${BOUNDARY}--\r\n`)])),
  }
}

/** A field of a form. */
export function field(name: string, content: string): Part {
  return { disposition: `name="${name}"`, content }
}

/** The file of a form, its name in quotes as HTTP escapes them. */
export function filePart(filename = 'a.txt', content: string | Uint8Array = 'hello', type = 'text/plain'): Part {
  return { disposition: `name="file"; filename="${filename.replace(/["\\]/g, '\\$&')}"`, type, content }
}

/** The name in a `content-disposition`, as RFC 8187 and RFC 6266 have clients read it. */
export function dispositionName(header: string | null): string {
  const extended = /filename\*=UTF-8''([^;]*)/.exec(header ?? '')?.[1]
  if (extended !== undefined) return decodeURIComponent(extended)
  const [, quoted, token] = /filename=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/.exec(header ?? '') ?? []
  return quoted?.replace(/\\(.)/g, '$1') ?? token ?? ''
}
