export type { OidcSettings } from '../src/access/settings.ts'
export { type LocalStack, type LocalStackOptions, startLocalStack } from './stack.ts'
