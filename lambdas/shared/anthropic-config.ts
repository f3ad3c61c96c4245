import { ANTHROPIC_BASE_URL, type AnthropicConnection } from '../../src/anthropic/connection.ts'
import { secretReader } from '../../src/anthropic/secret.ts'
import { ENVIRONMENT } from '../../src/environment.ts'
import { required } from './config.ts'

/**
 * How functions reach Anthropic: with the API key in the secret that the stack names, if it names one.
 * @throws Error naming the variable of Lambda that is not set
 */
export function anthropicFromEnvironment(environment: NodeJS.ProcessEnv): AnthropicConnection | undefined {
  const secretArn = environment[ENVIRONMENT.anthropicSecret]
  if (!secretArn) return undefined
  const apiKey = secretReader({
    secretArn,
    region: required(environment, 'AWS_REGION'),
    credentials: {
      accessKeyId: required(environment, 'AWS_ACCESS_KEY_ID'),
      secretAccessKey: required(environment, 'AWS_SECRET_ACCESS_KEY'),
      sessionToken: required(environment, 'AWS_SESSION_TOKEN'),
    },
  })
  return { baseUrl: environment[ENVIRONMENT.anthropicBaseUrl] || ANTHROPIC_BASE_URL, apiKey }
}
