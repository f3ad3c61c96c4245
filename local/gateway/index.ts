export type { LambdaHandler } from './invoke.ts'
export type { LambdaStreamHandler } from './invoke-stream.ts'
export { type GatewayOptions, type LocalGateway, startGateway } from './server.ts'
export type { Template } from './template.ts'
