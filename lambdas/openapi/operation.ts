import type * as z from 'zod'
import type { ErrorCode } from './error-codes.ts'

/** What a body of a media type holds: JSON or a form of a schema, or what has none. */
export type Body = z.ZodType | 'bytes' | 'text'

/** By media type. All of a type: `*\/*`. */
export type Content = Readonly<Record<string, Body>>

/** An answer of one status. */
export interface Answer {
  description: string
  /** What each header says. */
  headers?: Readonly<Record<string, string>>
  /** None: it has no body. */
  content?: Content
}

export type Status = `${number}` | '4XX' | '5XX'

/** What a route takes and answers: what there is to say of it besides its method, path and role. */
export interface Operation {
  /** What generated clients call it; no other operation has it. */
  id: string
  summary: string
  /** Markdown. */
  description?: string
  /** Of the path; each is described. */
  params?: z.ZodObject
  /** Each is described. */
  query?: z.ZodObject
  /** Besides those of all operations; each is described. */
  headers?: z.ZodObject
  body?: Content
  /** Whether the body may be left out. @default false */
  bodyOptional?: boolean
  answers: Readonly<Partial<Record<Status, Answer>>>
  /** Besides those of all operations. */
  errors?: readonly ErrorCode[]
  /** Of the errors, where it is not the API's own. */
  errorBody?: z.ZodType
}
