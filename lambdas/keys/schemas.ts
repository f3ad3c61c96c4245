import * as z from 'zod'
import { RIGHTS, ROLES } from '../../src/keys/types.ts'
import { isScopeName } from '../../src/tenancy/scope.ts'

const scopeName = z
  .string()
  .refine(
    (name) => name === '*' || isScopeName(name),
    'must be * or 1 to 128 characters of A-Z a-z 0-9 . _ -, the first a letter or a digit',
  )
export const binding = z
  .strictObject({ tenant: scopeName, project: scopeName })
  .meta({ id: 'KeyBinding', description: 'A tenant and a project; `*` stands for all.' })
export const create = z.strictObject({
  name: z.string().min(1).max(128),
  role: z.enum(ROLES),
  bindings: z.array(binding).min(1).max(100),
  rights: z.array(z.enum(RIGHTS)).max(RIGHTS.length).default([]),
})
export const list = z.strictObject({ page: z.string().optional().describe('The `next_page` of the page before.') })
export const revoke = z.strictObject({ id: z.string() })
