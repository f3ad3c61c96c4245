import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { authorize } from './auth.ts'
import { answerPreflight, corsHeaders } from './cors.ts'
import { S3Error } from './errors.ts'
import type { Reply } from './operations/context.ts'
import { dispatch } from './operations/dispatch.ts'
import { readPieces } from './operations/pieces.ts'
import { isPostForm, postObject } from './operations/post-object.ts'
import { parseRequest, type S3Request } from './request.ts'
import type { Signer } from './signature.ts'
import type { Catalog } from './storage/catalog.ts'
import { buildXml } from './xml.ts'

/** Up to this many bytes an object is sent in one piece. */
const smallBytes = 64 * 1024
/** How long a connection may be idle: longer than clients keep one, so that none is closed under a request. */
const keepAliveMs = 75_000

interface Service {
  catalog: Catalog
  signer: Signer
  region: string
  now: () => number
}

interface HttpService {
  /** Not yet listening. */
  server: Server
  /** Ends all connections; returns when no request is worked on any more. */
  close(): Promise<void>
}

/** Makes the server of a catalog: every request is verified, carried out and answered, refusals too. */
export function createS3Server(service: Service): HttpService {
  const working = new Set<Promise<void>>()
  const work = (incoming: IncomingMessage, outgoing: ServerResponse, onBodyRead: () => void) => {
    const done = handle(service, incoming, outgoing, onBodyRead).finally(() => working.delete(done))
    working.add(done)
  }
  const server = createServer({ keepAliveTimeout: keepAliveMs }, (incoming, outgoing) => {
    work(incoming, outgoing, () => undefined)
  })
  // A client that waits before it sends a body learns of a refusal first.
  server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    let told = false
    work(incoming, outgoing, () => {
      if (!told) outgoing.writeContinue()
      told = true
    })
  })
  const close = async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
    await Promise.all(working)
  }
  return { server, close }
}

async function handle(
  service: Service,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  onBodyRead: () => void,
): Promise<void> {
  const requestId = randomBytes(8).toString('hex').toUpperCase()
  outgoing.sendDate = false
  outgoing.setHeader('x-amz-request-id', requestId)
  outgoing.setHeader('date', new Date(service.now()).toUTCString())
  outgoing.setHeader('server', 'AmazonS3')
  try {
    const request = parseRequest(incoming, onBodyRead)
    for (const [name, value] of Object.entries(corsHeaders(service.catalog, request))) outgoing.setHeader(name, value)
    const reply = await answer(service, request)
    await send(service.catalog, outgoing, reply, request.method === 'HEAD')
  } catch (error) {
    if (outgoing.headersSent || incoming.readableAborted || outgoing.destroyed) outgoing.destroy()
    else sendError(outgoing, error, incoming, requestId)
  } finally {
    // A body that was not read to its end would block the next request of the connection.
    incoming.resume()
  }
}

async function answer(service: Service, request: S3Request): Promise<Reply> {
  const { catalog, signer, region } = service
  const now = service.now()
  if (request.method === 'OPTIONS') return answerPreflight(catalog, request)
  if (isPostForm(request)) return postObject(request, { catalog, signer, now })
  const authorized = await authorize(request, signer, now)
  return dispatch({
    request: authorized.request,
    authorized,
    catalog,
    region,
    time: Math.floor(now / 1000) * 1000,
  })
}

async function send(catalog: Catalog, outgoing: ServerResponse, reply: Reply, head: boolean): Promise<void> {
  const { status, headers = {}, xml, content } = reply
  if (xml !== undefined) {
    outgoing.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(xml) }).end(head ? '' : xml)
    return
  }
  if (!content || head) {
    outgoing.writeHead(status, status === 204 || status === 304 ? headers : { 'content-length': 0, ...headers }).end()
    return
  }
  const release = catalog.leases.hold(content.pieces)
  try {
    const { pieces, start, end } = content
    const [piece] = pieces
    if (pieces.length === 1 && piece && end - start <= smallBytes && piece.size <= smallBytes) {
      const bytes = await catalog.pieces.readAll(piece, start, end)
      outgoing.writeHead(status, headers).end(bytes)
    } else {
      outgoing.writeHead(status, headers)
      await pipeline(readPieces(catalog, pieces, start, end), outgoing)
    }
  } finally {
    await release()
  }
}

function sendError(outgoing: ServerResponse, error: unknown, incoming: IncomingMessage, requestId: string): void {
  const known = error instanceof S3Error ? error : new S3Error('InternalError')
  if (known !== error) console.error('The local S3 server failed:', error)
  const body = buildXml(
    'Error',
    {
      Code: known.code,
      Message: known.message,
      ...known.details,
      Resource: incoming.url?.split('?')[0],
      RequestId: requestId,
    },
    false,
  )
  const bodiless = incoming.method === 'HEAD' || known.status === 304
  outgoing.writeHead(known.status, {
    ...known.headers,
    ...(bodiless ? {} : { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(body) }),
  })
  outgoing.end(bodiless ? '' : body)
}
