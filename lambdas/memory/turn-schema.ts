import * as z from 'zod'
import { MAX_META_BYTES, MAX_SUMMARY_BYTES } from '../../src/limits.ts'

/**
 * What `readTurn` takes, for the description of the API: it reads the text itself, which says what a parsed value does
 * not, such as a member that stands twice.
 */

const text = z.string().nullish()
const number = z.number().nullish()

export const turnMeta = z
  .looseObject({
    agent_id: text,
    model: text,
    job_id: text,
    sandbox_id: text,
    commit: text,
    exit_code: number,
    started_at: text,
    ended_at: text,
    tokens: z.looseObject({ input: number, output: number }).nullish(),
    cost: number,
    claude_session_id: text,
  })
  .meta({ id: 'TurnMeta', description: `Other fields are kept. At most ${MAX_META_BYTES} bytes of compact JSON.` })

export const turnBody = z
  .strictObject({
    meta: turnMeta.optional().describe('Kept to the digit. Default: empty.'),
    summary_md: z
      .string()
      .refine((summary) => summary.isWellFormed(), 'must be well-formed Unicode')
      .optional()
      .describe(`Markdown, at most ${MAX_SUMMARY_BYTES} bytes. Default: empty.`),
  })
  .meta({ id: 'TurnBody', description: 'No member may stand twice.' })
