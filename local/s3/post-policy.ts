import { parseDate } from './auth.ts'
import { S3Error } from './errors.ts'
import { type Signer, sameSignature } from './signature.ts'

/** Fields of a form that its policy need not name. */
const free = new Set(['x-amz-signature', 'file', 'policy', 'awsaccesskeyid', 'signature'])

type Fields = ReadonlyMap<string, string>

/** The bytes that the file may have. */
export interface SizeLimits {
  min: number
  max: number
}

/**
 * Checks that the form's policy is signed, has not expired, and that the form meets it.
 * @param values the fields by lower-case name, with the bucket and the final key
 * @param nowMs milliseconds since the epoch
 * @returns the limits of the file's size, undefined where the policy sets none
 * @throws S3Error AccessDenied, InvalidPolicyDocument, SignatureDoesNotMatch and others
 */
export async function checkPolicy(
  fields: Fields,
  values: Fields,
  signer: Signer,
  nowMs: number,
): Promise<SizeLimits | undefined> {
  const policy = fields.get('policy')
  if (policy === undefined) throw new S3Error('AccessDenied')
  await checkFormSignature(fields, policy, signer)
  const { expiration, conditions } = parsePolicy(policy)
  if (!(Date.parse(expiration) > nowMs)) {
    throw new S3Error('AccessDenied', 'Invalid according to Policy: Policy expired.')
  }
  let limits: SizeLimits | undefined
  const covered = new Set<string>()
  for (const condition of conditions) {
    const parsed = parseCondition(condition)
    if ('min' in parsed) {
      limits = parsed
      continue
    }
    covered.add(parsed.field)
    const value = values.get(parsed.field) ?? ''
    const holds = parsed.exact
      ? value === parsed.value
      : // A list of content types holds when each of them does.
        (parsed.field === 'content-type' ? value.split(',') : [value]).every((one) => one.startsWith(parsed.value))
    if (!holds) {
      throw new S3Error(
        'AccessDenied',
        `Invalid according to Policy: Policy Condition failed: ${JSON.stringify(condition)}`,
      )
    }
  }
  const extra = [...fields.keys()].filter(
    (name) => !free.has(name) && !name.startsWith('x-ignore-') && !covered.has(name),
  )
  if (extra.length > 0) {
    throw new S3Error('AccessDenied', `Invalid according to Policy: Extra input fields: ${extra.join(', ')}`)
  }
  return limits
}

async function checkFormSignature(fields: Fields, policy: string, signer: Signer): Promise<void> {
  const field = (name: string) => {
    const value = fields.get(name)
    if (value === undefined) {
      throw new S3Error('InvalidArgument', `Bucket POST must contain a field named '${name}'.`, { ArgumentName: name })
    }
    return value
  }
  if (field('x-amz-algorithm') !== 'AWS4-HMAC-SHA256') {
    throw new S3Error('InvalidArgument', 'X-Amz-Algorithm only supports "AWS4-HMAC-SHA256"')
  }
  const date = field('x-amz-date')
  const [accessKeyId, ...scope] = field('x-amz-credential').split('/')
  if (accessKeyId !== signer.credentials.accessKeyId) {
    throw new S3Error('InvalidAccessKeyId', undefined, { AWSAccessKeyId: accessKeyId ?? '' })
  }
  if (parseDate(date) === undefined || scope.join('/') !== signer.scope(date.slice(0, 8))) {
    throw new S3Error('InvalidArgument', 'The X-Amz-Credential or X-Amz-Date field is malformed')
  }
  if (fields.has('x-amz-security-token')) throw new S3Error('InvalidToken')
  const expected = await signer.signText(date, policy)
  if (!sameSignature(expected, field('x-amz-signature'))) throw new S3Error('SignatureDoesNotMatch')
}

function parsePolicy(policy: string): { expiration: string; conditions: unknown[] } {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(policy, 'base64').toString('utf8'))
    if (
      typeof parsed === 'object' &&
      parsed !== null &&
      'expiration' in parsed &&
      typeof parsed.expiration === 'string' &&
      'conditions' in parsed &&
      Array.isArray(parsed.conditions)
    ) {
      return { expiration: parsed.expiration, conditions: parsed.conditions }
    }
  } catch {
    // Not JSON: refused below, as every other text that is no policy.
  }
  throw new S3Error('InvalidPolicyDocument', 'Invalid Policy: Invalid JSON.')
}

function parseCondition(condition: unknown): SizeLimits | { field: string; value: string; exact: boolean } {
  if (Array.isArray(condition) && condition.length === 3) {
    const [operator, first, second]: unknown[] = condition
    const name = typeof operator === 'string' ? operator.toLowerCase() : ''
    const min = Number(first)
    const max = Number(second)
    if (name === 'content-length-range' && Number.isInteger(min) && Number.isInteger(max)) return { min, max }
    const known = name === 'eq' || name === 'starts-with'
    if (known && typeof first === 'string' && first.startsWith('$') && typeof second === 'string') {
      return { field: first.slice(1).toLowerCase(), value: second, exact: name === 'eq' }
    }
  } else if (typeof condition === 'object' && condition !== null && !Array.isArray(condition)) {
    const [entry, ...others] = Object.entries(condition)
    if (entry && others.length === 0 && typeof entry[1] === 'string') {
      return { field: entry[0].toLowerCase(), value: entry[1], exact: true }
    }
  }
  throw new S3Error('InvalidPolicyDocument', `Invalid Policy: Invalid condition ${JSON.stringify(condition)}`)
}
