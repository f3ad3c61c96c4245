import { createHandler } from './handler.ts'

export const handler = createHandler()
