import * as z from 'zod'
import type { Operation } from '../openapi/operation.ts'
import { jsonAnswer, noContent } from '../openapi/schemas.ts'
import type { InstanceAction } from './routes.ts'
import { byKey, record, upsert } from './schemas.ts'

/** What the instances service takes and answers. */
export const OPERATIONS: Record<InstanceAction, Operation> = {
  get: {
    id: 'getInstance',
    summary: 'Get the record of a sandbox instance',
    body: { 'application/json': byKey },
    answers: { 200: jsonAnswer('The record, or null.', z.strictObject({ record: record.nullable() })) },
  },
  upsert: {
    id: 'upsertInstance',
    summary: 'Write the record of a sandbox instance',
    description: 'The whole record is replaced. Unknown fields are kept.',
    body: { 'application/json': upsert },
    answers: { 204: noContent },
  },
  delete: {
    id: 'deleteInstance',
    summary: 'Delete the record of a sandbox instance',
    description: 'One that is not there is no error.',
    body: { 'application/json': byKey },
    answers: { 204: noContent },
  },
}
