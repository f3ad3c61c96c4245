import { Token } from 'aws-cdk-lib'
import { checkOidc, type OidcSettings, oidcToEnvironment } from '../src/access/settings.ts'
import { ENVIRONMENT } from '../src/environment.ts'
import { isRetention, RETENTION_RULE } from '../src/limits.ts'
import type { AnthropicProps, SandkeepProps } from './sandkeep.ts'

/** @throws InvalidInputError naming a wrong setting; what is known only at the deployment is checked by the function */
export function oidcEnvironment(oidc: OidcSettings | undefined): Record<string, string> {
  if (oidc === undefined) return {}
  if (!Token.isUnresolved(JSON.stringify(oidc))) checkOidc(oidc)
  return oidcToEnvironment(oidc)
}

/** In seconds. @throws Error naming a property that is too short */
export function retention(
  name: 'memoryRetention' | 'sandboxRetention',
  props: SandkeepProps,
  standard: number,
): string {
  const seconds = props[name]?.toSeconds() ?? standard
  if (!isRetention(seconds)) throw new Error(`${name} must be ${RETENTION_RULE}.`)
  return String(seconds)
}

export function filesEnvironment({ anthropic, filesBackend }: SandkeepProps): Record<string, string> {
  if (filesBackend === 'anthropic' && !anthropic) {
    throw new Error('filesBackend: with "anthropic" the property anthropic is needed.')
  }
  return {
    ...(filesBackend && { [ENVIRONMENT.filesBackend]: filesBackend }),
    ...(anthropic && { [ENVIRONMENT.anthropicSecret]: anthropic.secret.secretArn }),
    ...(anthropic?.baseUrl !== undefined && { [ENVIRONMENT.anthropicBaseUrl]: anthropic.baseUrl }),
  }
}

/** As it stands in policies: the whole ARN ends in six random characters. */
export function secretArnOf({ secret }: AnthropicProps): string {
  return secret.secretFullArn ?? `${secret.secretArn}-??????`
}
