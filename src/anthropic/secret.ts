import { Sha256 } from '@aws-crypto/sha256-js'
import { HttpRequest } from '@smithy/protocol-http'
import { SignatureV4 } from '@smithy/signature-v4'

export interface SecretOptions {
  /** The ARN of the secret, whose text is what is asked for. */
  secretArn: string
  region: string
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
  /** Default: that of the Region. */
  endpoint?: string
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number
}

/** How long a secret is used before it is asked for again. */
const MAX_AGE_MS = 300_000
const TIMEOUT_MS = 10_000

/**
 * Reads the text of a secret of AWS Secrets Manager, and keeps it for five minutes. One request is signed here instead
 * of by a client of the SDK, which would be the larger part of the function that needs it.
 */
export function secretReader(options: SecretOptions): () => Promise<string> {
  const { now = Date.now } = options
  let kept: { value: Promise<string>; readAt: number } | undefined
  return async () => {
    if (!kept || now() - kept.readAt >= MAX_AGE_MS) {
      const reading = { value: readSecret(options), readAt: now() }
      kept = reading
      // A failure is not kept: the next request asks again.
      reading.value.catch(() => {
        if (kept === reading) kept = undefined
      })
    }
    return kept.value
  }
}

/** @throws Error that tells nothing of the secret */
async function readSecret({ secretArn, region, credentials, endpoint }: SecretOptions): Promise<string> {
  const url = new URL(endpoint ?? `https://secretsmanager.${region}.amazonaws.com`)
  const signer = new SignatureV4({ service: 'secretsmanager', region, credentials, sha256: Sha256 })
  const request = await signer.sign(
    new HttpRequest({
      method: 'POST',
      protocol: url.protocol,
      hostname: url.hostname,
      path: '/',
      headers: {
        host: url.host,
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': 'secretsmanager.GetSecretValue',
      },
      body: JSON.stringify({ SecretId: secretArn }),
    }),
  )
  const { host: _, ...headers } = request.headers
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const answer = await fetch(url, { method: 'POST', headers, body: request.body, signal })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`Secrets Manager answered ${answer.status} (${errorType(text)}).`)
  const { SecretString } = JSON.parse(text)
  if (typeof SecretString !== 'string' || !/^[\x21-\x7e]+$/.test(SecretString.trim())) {
    throw new Error('The secret should be the text of an API key.')
  }
  return SecretString.trim()
}

function errorType(text: string): string {
  return /"__type"\s*:\s*"([A-Za-z.#]{1,100})"/.exec(text)?.[1] ?? 'no type'
}
