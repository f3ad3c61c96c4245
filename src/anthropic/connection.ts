/** How to reach Anthropic's API. */
export interface AnthropicConnection {
  /** Without `/v1` and without a slash at the end. */
  baseUrl: string
  /** Asked for each request, so that a key that was changed is used without a new start. */
  apiKey(): Promise<string>
}

export const ANTHROPIC_VERSION = '2023-06-01'

export const ANTHROPIC_BASE_URL = 'https://api.anthropic.com'
