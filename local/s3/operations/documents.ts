import { randomUUID } from 'node:crypto'
import { S3Error, type S3ErrorCode } from '../errors.ts'
import { buildXml, children, parseXml, text, texts, withoutWhitespace, type XmlElement } from '../xml.ts'
import { type Context, type Operation, payloadOf, type Reply, xmlReply } from './context.ts'
import { parseTagDocument } from './tags.ts'

interface DocumentKind {
  root: string
  missing: S3ErrorCode
  /** Checks a document; returns it as it is to be kept. */
  read(body: Buffer): XmlElement
  /** What answers before any document was put. */
  initial?: XmlElement
}

const maxRules = 1000

/** The configurations of a bucket that are kept and given back, by the name of their query parameter. */
const kinds: Readonly<Record<string, DocumentKind>> = {
  lifecycle: {
    root: 'LifecycleConfiguration',
    missing: 'NoSuchLifecycleConfiguration',
    read: (body) => readLifecycle(parseXml(body, 'LifecycleConfiguration')),
  },
  cors: {
    root: 'CORSConfiguration',
    missing: 'NoSuchCORSConfiguration',
    read: (body) => readCors(parseXml(body, 'CORSConfiguration')),
  },
  encryption: {
    root: 'ServerSideEncryptionConfiguration',
    missing: 'ServerSideEncryptionConfigurationNotFoundError',
    read: (body) => withRules(parseXml(body, 'ServerSideEncryptionConfiguration'), 1),
    initial: { Rule: { ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' }, BucketKeyEnabled: false } },
  },
  publicAccessBlock: {
    root: 'PublicAccessBlockConfiguration',
    missing: 'NoSuchPublicAccessBlockConfiguration',
    read: (body) => withoutWhitespace(parseXml(body, 'PublicAccessBlockConfiguration')),
  },
  tagging: {
    root: 'Tagging',
    missing: 'NoSuchTagSet',
    read: (body) => ({ TagSet: { Tag: parseTagDocument(body, 'bucket').map((tag) => ({ ...tag })) } }),
  },
}

/** Get, put and delete for each kind of document. */
export const documentOperations: Readonly<Record<string, Operation>> = Object.fromEntries(
  Object.entries(kinds).flatMap(
    ([name, kind]): Array<[string, Operation]> => [
      [`GET bucket?${name}`, (context) => getDocument(context, name, kind)],
      [`PUT bucket?${name}`, (context) => putDocument(context, name, kind)],
      [`DELETE bucket?${name}`, (context) => deleteDocument(context, name)],
    ],
  ),
)

function getDocument({ request, catalog }: Context, name: string, kind: DocumentKind): Reply {
  const { documents } = catalog.bucket(request.bucket).record
  const document = documents[name] ?? (kind.initial && buildXml(kind.root, kind.initial))
  if (document === undefined) throw new S3Error(kind.missing, undefined, { BucketName: request.bucket })
  return xmlReply(document)
}

async function putDocument(context: Context, name: string, kind: DocumentKind): Promise<Reply> {
  const { request, catalog } = context
  catalog.bucket(request.bucket)
  const payload = payloadOf(context)
  if (!payload.algorithm && request.headers['content-md5'] === undefined) {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: Content-MD5')
  }
  const document = buildXml(kind.root, kind.read(await payload.document()))
  const { record } = catalog.bucket(request.bucket)
  await catalog.saveBucket({ ...record, documents: { ...record.documents, [name]: document } })
  return { status: 200 }
}

async function deleteDocument({ request, catalog }: Context, name: string): Promise<Reply> {
  const { record } = catalog.bucket(request.bucket)
  const { [name]: _, ...documents } = record.documents
  await catalog.saveBucket({ ...record, documents })
  return { status: 204 }
}

function withRules(document: XmlElement, limit: number, name = 'Rule'): XmlElement {
  const rules = children(document, name)
  if (rules.length === 0 || rules.length > limit) throw new S3Error('MalformedXML')
  return withoutWhitespace(document)
}

/** Rules keep their ids or get one; numbers of days are positive. Nothing expires by them here. */
function readLifecycle(document: XmlElement): XmlElement {
  const rules = children(withRules(document, maxRules), 'Rule').map((rule) => {
    const status = text(rule, 'Status')
    if (status !== 'Enabled' && status !== 'Disabled') throw new S3Error('MalformedXML')
    for (const action of [
      'Expiration',
      'Transition',
      'NoncurrentVersionExpiration',
      'AbortIncompleteMultipartUpload',
    ]) {
      for (const element of children(rule, action)) assertDays(element)
    }
    const id = text(rule, 'ID') ?? randomUUID()
    if (id.length > 255) throw new S3Error('InvalidArgument', 'ID length should not exceed allowed limit of 255')
    return { ID: id, ...Object.fromEntries(Object.entries(rule).filter(([name]) => name !== 'ID')) }
  })
  if (new Set(rules.map((rule) => rule.ID)).size < rules.length) {
    throw new S3Error('InvalidArgument', 'Rule ID must be unique. Found same ID for more than one rule')
  }
  return { Rule: rules }
}

function assertDays(action: XmlElement): void {
  for (const name of ['Days', 'NoncurrentDays', 'DaysAfterInitiation']) {
    const days = text(action, name)
    if (days !== undefined && !/^[1-9]\d{0,9}$/.test(days)) {
      throw new S3Error('InvalidArgument', `'${name}' for the action must be a positive integer`)
    }
  }
}

const corsMethods = new Set(['GET', 'PUT', 'HEAD', 'POST', 'DELETE'])

function readCors(document: XmlElement): XmlElement {
  const clean = withRules(document, 100, 'CORSRule')
  for (const rule of children(clean, 'CORSRule')) {
    const age = text(rule, 'MaxAgeSeconds')
    const exposed = texts(rule, 'ExposeHeader')
    if (age !== undefined && !/^\d{1,9}$/.test(age)) throw new S3Error('MalformedXML')
    if (!exposed.every((name) => /^[0-9A-Za-z_*-]+$/.test(name))) {
      throw new S3Error('InvalidRequest', 'ExposeHeader contains a name that is no header')
    }
    const methods = [rule.AllowedMethod ?? []].flat()
    if (methods.length === 0 || [rule.AllowedOrigin ?? []].flat().length === 0) throw new S3Error('MalformedXML')
    for (const method of methods) {
      if (typeof method !== 'string' || !corsMethods.has(method)) {
        throw new S3Error(
          'InvalidRequest',
          `Found unsupported HTTP method in CORS config. Unsupported method is ${method}`,
        )
      }
    }
  }
  return clean
}
