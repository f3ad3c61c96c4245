import type { Authorized } from '../auth.ts'
import { Payload } from '../payload.ts'
import type { S3Request } from '../request.ts'
import type { Catalog } from '../storage/catalog.ts'
import type { Piece } from '../storage/types.ts'

/** One authorized request and what it acts on. */
export interface Context {
  readonly request: S3Request
  readonly authorized: Authorized
  readonly catalog: Catalog
  readonly region: string
  /** The time of the request: milliseconds since the epoch, in whole seconds, as S3 keeps times. */
  readonly time: number
}

export interface Reply {
  status: number
  headers?: Record<string, string>
  /** A document. */
  xml?: string
  /** Bytes of an object, from `start` up to, not including, `end` of the pieces together. */
  content?: { pieces: readonly Piece[]; start: number; end: number }
}

export type Operation = (context: Context) => Reply | Promise<Reply>

export function payloadOf(context: Context): Payload {
  return new Payload(context.authorized)
}

export function xmlReply(xml: string): Reply {
  return { status: 200, headers: { 'content-type': 'application/xml' }, xml }
}
