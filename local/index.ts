export { type LocalStack, type LocalStackOptions, startLocalStack } from './stack.ts'
