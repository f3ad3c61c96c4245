import { Sha256 } from '@aws-crypto/sha256-js'
import type { S3Client } from '@aws-sdk/client-s3'
import { HttpRequest } from '@smithy/protocol-http'
import { SignatureV4 } from '@smithy/signature-v4'

/** How long a secret is used before it is asked for again: so long a changed one may take to come through. */
const KEPT_MS = 300_000
const TARGET = 'secretsmanager.GetSecretValue'

export interface SecretSource {
  /** Whose Region and credentials are used. */
  client: Pick<S3Client, 'config'>
  secretArn: string
  /** Default: that of the Region. */
  endpoint?: string
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number
}

/**
 * Reads a secret's text from Secrets Manager, at most every five minutes. It is one request of a service whose client is
 * used for nothing else, so it is signed here.
 * @returns a function that gives the secret. @throws Error without the secret in it when it cannot be had
 */
export function secretText({ client, secretArn, endpoint, now = Date.now }: SecretSource): () => Promise<string> {
  let known: { text: Promise<string>; until: number } | undefined
  return () => {
    if (!known || now() >= known.until) {
      const text = readSecret({ client, secretArn, ...(endpoint !== undefined && { endpoint }) })
      const asked = { text, until: now() + KEPT_MS }
      known = asked
      // A failure is not kept.
      text.catch(() => {
        if (known === asked) known = undefined
      })
    }
    return known.text
  }
}

async function readSecret({ client, secretArn, endpoint }: SecretSource): Promise<string> {
  const region = await client.config.region()
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  const url = new URL(endpoint ?? `https://secretsmanager.${region}.${domain}`)
  const body = JSON.stringify({ SecretId: secretArn })
  const signer = new SignatureV4({
    service: 'secretsmanager',
    region,
    credentials: client.config.credentials,
    sha256: Sha256,
  })
  const { headers } = await signer.sign(
    new HttpRequest({
      method: 'POST',
      protocol: url.protocol,
      hostname: url.hostname,
      path: '/',
      headers: { host: url.host, 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': TARGET },
      body,
    }),
  )
  const { host: _, ...sent } = headers
  const answer = await fetch(url, { method: 'POST', headers: sent, body })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`Secrets Manager answered ${answer.status}.`)
  const { SecretString } = JSON.parse(text) as { SecretString?: unknown }
  if (typeof SecretString !== 'string' || SecretString.trim() === '') throw new Error('The secret has no text.')
  return SecretString.trim()
}
