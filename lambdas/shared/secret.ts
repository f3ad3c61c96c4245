import {
  GetSecretValueCommand,
  SecretsManagerClient,
  type SecretsManagerClientConfig,
} from '@aws-sdk/client-secrets-manager'

/** How long a secret is used before it is asked for again: so long a changed one may take to come through. */
const KEPT_MS = 300_000

export interface SecretSource {
  secretArn: string
  /** Of the client of Secrets Manager. Default: the function's Region and credentials. */
  client?: SecretsManagerClientConfig
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number
}

/**
 * Reads a secret's text from Secrets Manager, at most every five minutes.
 * @returns a function that gives the secret. @throws Error without the secret in it when it cannot be had
 */
export function secretText({ secretArn, client = {}, now = Date.now }: SecretSource): () => Promise<string> {
  const secrets = new SecretsManagerClient(client)
  let known: { text: Promise<string>; until: number } | undefined
  return () => {
    if (!known || now() >= known.until) {
      const text = readSecret(secrets, secretArn)
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

async function readSecret(secrets: SecretsManagerClient, SecretId: string): Promise<string> {
  const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId }))
  if (SecretString.trim() === '') throw new Error('The secret has no text.')
  return SecretString.trim()
}
