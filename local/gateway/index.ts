export type { LambdaHandler } from './invoke.ts'
export { type GatewayOptions, type LocalGateway, startGateway } from './server.ts'
export type { Template } from './template.ts'
