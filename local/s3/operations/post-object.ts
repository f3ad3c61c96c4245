import { createHash } from 'node:crypto'
import { createDigest, statedChecksum } from '../checksums.ts'
import { S3Error } from '../errors.ts'
import { maxUploadBytes } from '../payload.ts'
import { checkPolicy, type SizeLimits } from '../post-policy.ts'
import { assertKeyLength, encodePath, type S3Request } from '../request.ts'
import type { Signer } from '../signature.ts'
import type { Catalog } from '../storage/catalog.ts'
import { buildXml } from '../xml.ts'
import { readAttributes } from './attributes.ts'
import type { Reply } from './context.ts'
import { writtenHeaders } from './objects.ts'
import { type PostForm, readPostForm } from './post-form.ts'
import { commitVersion, storePiece } from './store.ts'
import { parseTagDocument } from './tags.ts'

/** Whether a request is an upload by a form, which is signed in its fields and not in its headers. */
export function isPostForm(request: S3Request): boolean {
  const form = /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')
  return request.method === 'POST' && request.bucket !== '' && request.key === '' && request.query.size === 0 && form
}

/** PostObject: checks the policy before it stores a byte. */
export async function postObject(
  request: S3Request,
  { catalog, signer, now }: { catalog: Catalog; signer: Signer; now: number },
): Promise<Reply> {
  if (request.headers['content-length'] === undefined) throw new S3Error('MissingContentLength')
  const bucket = catalog.bucket(request.bucket)
  return readPostForm(request, async (form) => {
    const filename = form.filename.split(/[\\/]/).at(-1) ?? ''
    const key = form.fields.get('key')?.replace(/\$\{filename\}/g, () => filename)
    if (!key) throw new S3Error('InvalidArgument', "Bucket POST must contain a field named 'key'.")
    assertKeyLength(key)
    const values = new Map([...form.fields, ['bucket', request.bucket], ['key', key]])
    const limits = await checkPolicy(form.fields, values, signer, now)
    const headers = Object.fromEntries([...form.fields].filter(([name]) => name !== 'tagging'))
    const attributes = readAttributes(headers)
    const tagging = form.fields.get('tagging')
    if (tagging !== undefined) attributes.tags = parseTagDocument(Buffer.from(tagging), 'object')
    const stored = await storeFile(catalog, form, headers, limits)
    const version = await commitVersion(
      catalog,
      {},
      {
        ...attributes,
        ...stored,
        bucket: request.bucket,
        key,
        lastModified: Math.floor(now / 1000) * 1000,
      },
    )
    const written = writtenHeaders(bucket, version)
    return answerForm(request, form.fields, key, written)
  })
}

async function storeFile(
  catalog: Catalog,
  form: PostForm,
  headers: Readonly<Record<string, string>>,
  limits: SizeLimits | undefined,
) {
  const stated = statedChecksum(headers)
  const algorithm = stated?.algorithm ?? 'CRC32'
  const max = Math.min(limits?.max ?? maxUploadBytes, maxUploadBytes)
  const { piece, result } = await storePiece(catalog, async (sink) => {
    const md5 = createHash('md5')
    const digest = createDigest(algorithm)
    let size = 0
    for await (const chunk of form.file) {
      size += chunk.length
      if (size > max) {
        throw new S3Error('EntityTooLarge', undefined, { ProposedSize: String(size), MaxSizeAllowed: String(max) })
      }
      md5.update(chunk)
      digest.update(chunk)
      await sink.write(chunk)
    }
    if (limits && size < limits.min) {
      throw new S3Error('EntityTooSmall', undefined, {
        ProposedSize: String(size),
        MinSizeAllowed: String(limits.min),
      })
    }
    const value = digest.digest().toString('base64')
    if (stated && stated.value !== value) {
      throw new S3Error('BadDigest', `The ${algorithm} you specified did not match the calculated checksum.`)
    }
    return { size, etag: md5.digest('hex'), value }
  })
  const { size, etag, value } = result
  return { size, etag, pieces: [piece], checksum: { algorithm, type: 'FULL_OBJECT' as const, value } }
}

function answerForm(
  request: S3Request,
  fields: ReadonlyMap<string, string>,
  key: string,
  written: Record<string, string>,
): Reply {
  const location = `http://${request.headers.host}/${request.bucket}/${encodePath(key)}`
  const redirect = fields.get('success_action_redirect') ?? fields.get('redirect')
  if (redirect !== undefined && URL.canParse(redirect)) {
    const target = new URL(redirect)
    target.searchParams.set('bucket', request.bucket)
    target.searchParams.set('key', key)
    target.searchParams.set('etag', written.etag ?? '')
    return { status: 303, headers: { ...written, location: target.href } }
  }
  const status = fields.get('success_action_status')
  if (status === '201') {
    const xml = buildXml(
      'PostResponse',
      { Location: location, Bucket: request.bucket, Key: key, ETag: written.etag },
      false,
    )
    return { status: 201, headers: { ...written, location, 'content-type': 'application/xml' }, xml }
  }
  return { status: status === '200' ? 200 : 204, headers: { ...written, location } }
}
