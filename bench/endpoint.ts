import type { Engines } from '../test/support/engines.ts'

/** Where the engine of a client answers. */
export async function endpointOf({ config }: Engines['dynamodb'] | Engines['s3']): Promise<string> {
  if (!config.endpoint) throw new Error('The clients of the engines have endpoints.')
  const { protocol, hostname, port } = await config.endpoint()
  return `${protocol}//${hostname}:${port}`
}
