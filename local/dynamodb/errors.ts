/** An answer that refuses a request: `body` goes out as it is, with its `__type` naming the exception. */
export class DynamoDbError extends Error {
  readonly statusCode: number
  readonly body: { __type: string; [member: string]: unknown }

  constructor(type: string, message: string, members: object = {}, statusCode = 400) {
    super(message)
    this.name = type
    this.statusCode = statusCode
    this.body = { __type: `${namespaceOf(type)}#${type}`, message, ...members }
  }
}

function namespaceOf(type: string): string {
  if (type === 'ValidationException') return 'com.amazon.coral.validate'
  return SERVICE_WIDE.has(type) ? 'com.amazon.coral.service' : 'com.amazonaws.dynamodb.v20120810'
}

const SERVICE_WIDE = new Set([
  'SerializationException',
  'UnknownOperationException',
  'MissingAuthenticationTokenException',
  'IncompleteSignatureException',
])

/** The request breaks a rule of the API. */
export function validationError(message: string): DynamoDbError {
  return new DynamoDbError('ValidationException', message)
}

/** True for errors that carry their own answer: ours, and those that dynalite makes in the same shape. */
export function isAnswer(error: unknown): error is DynamoDbError {
  return error instanceof Error && 'statusCode' in error && 'body' in error
}

/** The exception's short name, such as `ConditionalCheckFailedException`. */
export function typeOf(error: DynamoDbError): string {
  return error.body.__type.split('#')[1] ?? ''
}
