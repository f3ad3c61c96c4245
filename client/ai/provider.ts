import { type AnthropicProvider, createAnthropic } from '@ai-sdk/anthropic'
import { checkScopeOption, connect } from './connection.ts'
import type { SandkeepAIEnv, SandkeepAIOptions } from './types.ts'

/**
 * An Anthropic provider of the AI SDK whose requests go through this deployment, which keeps each caller to the
 * containers and files of its own.
 * @throws InvalidInputError naming the variable of `env` or the option
 */
export function createSandkeepAI(env: SandkeepAIEnv, options: SandkeepAIOptions = {}): AnthropicProvider {
  const { url, headers, apiKey, token, fetch } = connect(env, options)
  return createAnthropic({
    baseURL: `${url}/sandbox/anthropic/v1`,
    headers: { ...headers, 'x-sandbox-scope': checkScopeOption('sandboxScope', options.sandboxScope) },
    // One of the two, or the provider would send Anthropic's own key from the environment.
    ...(token === undefined ? apiKey !== undefined && { apiKey } : { authToken: token }),
    fetch,
  })
}
