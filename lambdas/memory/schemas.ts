import * as z from 'zod'
import { limit, page } from '../shared/page-schemas.ts'

/** The query of a route that takes no parameter. */
export const noParameters = z.strictObject({})

export const aPage = z.strictObject({ limit, page })

export const upload = z.strictObject({
  size_bytes: z.int().min(0),
  content_type: z.string().default('application/octet-stream'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits')
    .transform((hex) => hex.toLowerCase())
    .optional(),
})
