import { InvalidInputError } from '../../src/errors.ts'
import { FILE_EXPIRY_SECONDS, fileName, MAX_FILE_BYTES } from '../../src/files/rules.ts'
import { INLINE_LIMIT_BYTES } from '../../src/limits.ts'
import { SandboxFileError } from './error.ts'
import { asFileError, type FilesHttp } from './files-http.ts'
import { withProgress } from './progress.ts'
import type { SandboxFile, SandboxScope, SandboxUploadOptions } from './types.ts'

export interface UploadTarget {
  http: FilesHttp
  base: string
  scope: SandboxScope
  /** Whether requests may go by other means than the `fetch` of the connection. */
  ownFetch: boolean
}

interface PresignedUpload {
  upload_id: string
  method: string
  url: string
  headers: Record<string, string>
}

/** What a form has besides the file: names, boundaries, fields. */
const FORM_OVERHEAD_BYTES = 8_192

/** @throws SandboxFileError with status 400 or 413 before any request */
export async function uploadFile(
  target: UploadTarget,
  file: Blob,
  options: SandboxUploadOptions,
): Promise<SandboxFile> {
  const fields = { ...checkFile(file, options), scope: target.scope, origin: options.origin }
  options.onProgress?.({ loaded: 0, total: file.size })
  // A form writes a quote in a name as %22, which would stay in it.
  const inForm = file.size <= INLINE_LIMIT_BYTES - FORM_OVERHEAD_BYTES && !fields.filename.includes('"')
  const stored = await (inForm
    ? uploadForm(target, file, fields, options)
    : uploadPresigned(target, file, fields, options))
  options.onProgress?.({ loaded: file.size, total: file.size })
  return stored
}

interface Fields {
  filename: string
  expiresInSeconds: number | undefined
  scope: SandboxScope
  origin: 'sandbox' | undefined
}

async function uploadForm(
  { http, base, ownFetch }: UploadTarget,
  file: Blob,
  fields: Fields,
  options: SandboxUploadOptions,
) {
  const { body: content, send } = withProgress(
    new File([file], fields.filename, { type: typeOf(file) }),
    options,
    ownFetch,
  )
  const body = new FormData()
  body.append('scope', fields.scope)
  if (fields.expiresInSeconds !== undefined) body.append('expires_in_seconds', String(fields.expiresInSeconds))
  if (fields.origin !== undefined) body.append('origin', fields.origin)
  body.append('file', content)
  const { headers } = http.connection
  // Carried out twice, it would make two files.
  return http.json<SandboxFile>(
    { method: 'POST', url: base, headers, body, fileBytes: file.size },
    { repeatable: false, ...(send && { send }) },
  )
}

async function uploadPresigned(
  { http, base, ownFetch }: UploadTarget,
  file: Blob,
  fields: Fields,
  options: SandboxUploadOptions,
) {
  const headers = { ...http.connection.headers, 'content-type': 'application/json' }
  const description = {
    filename: fields.filename,
    mime_type: typeOf(file),
    size_bytes: file.size,
    sha256: await sha256(file),
    expires_in_seconds: fields.expiresInSeconds,
    scope: fields.scope,
    origin: fields.origin,
  }
  const uploads = `${base}/uploads`
  // An upload that is begun twice leaves one that nobody completes, which does no harm.
  const upload = await http.json<PresignedUpload>({
    method: 'POST',
    url: uploads,
    headers,
    body: JSON.stringify(description),
  })
  const { body, send } = withProgress(file, options, ownFetch)
  await http.store({ ...storageRequest(upload), body, fileBytes: file.size }, send)
  const url = `${uploads}/${encodeURIComponent(upload.upload_id)}/complete`
  return http.json<SandboxFile>({ method: 'POST', url, headers, body: '{}' })
}

/** `fetch` makes the length from the body, and refuses to be told. */
function storageRequest({ method, url, headers }: PresignedUpload) {
  const told = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-length')
  return { method, url, headers: Object.fromEntries(told) }
}

function checkFile(file: Blob, { filename, expiresInSeconds, origin }: SandboxUploadOptions) {
  if (!(file instanceof Blob)) throw refusal('file', 'file must be a Blob or a File.')
  if (file.size > MAX_FILE_BYTES) {
    const message = `The file has ${file.size} bytes; it may have at most ${MAX_FILE_BYTES}.`
    throw new SandboxFileError(413, 'payload_too_large', message, { field: 'file' })
  }
  const name = filename ?? (file instanceof File ? file.name : undefined)
  if (typeof name !== 'string') throw refusal('filename', 'A Blob needs options.filename.')
  const { least, most } = FILE_EXPIRY_SECONDS
  if (
    expiresInSeconds !== undefined &&
    !(Number.isInteger(expiresInSeconds) && expiresInSeconds >= least && expiresInSeconds <= most)
  ) {
    throw refusal('expiresInSeconds', `expiresInSeconds must be a whole number from ${least} to ${most}.`)
  }
  if (origin !== undefined && origin !== 'sandbox') throw refusal('origin', 'origin must be "sandbox".')
  try {
    return { filename: fileName(name), expiresInSeconds }
  } catch (error) {
    throw asFileError(error)
  }
}

function refusal(field: string, message: string): unknown {
  return asFileError(new InvalidInputError(field, message))
}

function typeOf(file: Blob): string {
  return file.type || 'application/octet-stream'
}

/** Undefined where the runtime hashes nothing, as pages that came over plain HTTP. */
async function sha256(file: Blob): Promise<string | undefined> {
  const subtle: typeof crypto.subtle | undefined = globalThis.crypto?.subtle
  if (subtle === undefined) return undefined
  const digest = await subtle.digest('SHA-256', await file.arrayBuffer())
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
