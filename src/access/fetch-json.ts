/** The identity provider gave no usable answer. Nothing is known about the caller; trying again is right. */
export class ProviderUnavailableError extends Error {
  override readonly name = 'ProviderUnavailableError'
}

/** How the identity provider is reached. */
export interface Reach {
  fetch: typeof globalThis.fetch
  /** For one request and its whole answer, in milliseconds. */
  timeoutMs: number
}

export interface JsonAnswer {
  status: number
  /** Undefined when the body is not JSON. */
  body: unknown
}

/** Far more than key sets and discovery documents have. */
const MAX_ANSWER_BYTES = 1_048_576

/**
 * One request, made once more when its connection broke: an idle one may have been closed while the function slept.
 * @throws ProviderUnavailableError when there is no whole answer in time, or it is too large
 */
export async function fetchJson({ fetch, timeoutMs }: Reach, url: string, init: RequestInit = {}): Promise<JsonAnswer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const attempt = async (): Promise<JsonAnswer> => {
    // A redirect could lead a bearer token elsewhere, and no provider needs one here.
    const response = await fetch(url, { ...init, signal, redirect: 'error' })
    return { status: response.status, body: parse(await readText(response)) }
  }
  try {
    return await attempt().catch((error: unknown) => {
      if (signal.aborted || !(error instanceof TypeError)) throw error
      return attempt()
    })
  } catch (cause) {
    throw new ProviderUnavailableError(`${new URL(url).host} did not answer.`, { cause })
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error('The answer is too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The status alone says what there is to say.
    return undefined
  }
}
