export type { OidcSettings } from '../src/access/settings.ts'
export type { SandkeepApi, Throttling } from './api.ts'
export { Sandkeep, type SandkeepProps } from './sandkeep.ts'
export { SandkeepStack, type SandkeepStackProps } from './stack.ts'
