import type { APIGatewayProxyResult } from 'aws-lambda'
import { SandboxCheckpointError } from '../../src/checkpoints/errors.ts'
import {
  AUTHENTICATION_CHALLENGE,
  BlobsMissingError,
  InvalidInputError,
  PayloadTooLargeError,
  SandkeepError,
  UnauthenticatedError,
  UnavailableError,
  UpstreamError,
} from '../../src/errors.ts'
import { json } from './answer.ts'
import { checkpointErrorStatus, isTransient } from './error-status.ts'
import { log } from './log.ts'
import type { ApiMiddleware, ApiRequest } from './request.ts'
import { requestIdOf } from './request-id.ts'
import { MethodNotAllowedError } from './router.ts'

const RETRY_AFTER_SECONDS = '1'
const MAX_TEXT_LENGTH = 500

/** The one place that turns an error into an HTTP answer. What it does not know is logged, and nothing of it told. */
export function errorAnswer(): ApiMiddleware {
  const errorAnswerOnError = (request: ApiRequest): void => {
    request.response = answerOf(request)
  }
  return { onError: errorAnswerOnError }
}

function answerOf(request: ApiRequest): APIGatewayProxyResult {
  const error = known(request.error)
  if (error instanceof SandboxCheckpointError) {
    return json(checkpointErrorStatus(error), { error: { code: error.code, message: shorten(error.message) } })
  }
  if (error instanceof SandkeepError) {
    if (error.status >= 500)
      log('WARN', error.message, { request_id: requestIdOf(request.event, request.context), error })
    return json(error.status, { error: errorBody(error) }, errorHeaders(error))
  }
  log('ERROR', 'The request failed.', {
    request_id: requestIdOf(request.event, request.context),
    route: `${request.event.httpMethod} ${request.event.resource}`,
    error,
  })
  return json(500, { error: { code: 'internal_error', message: 'The request failed. Quote the x-request-id.' } })
}

/** Errors of libraries that stand for one of ours. */
function known(error: unknown): unknown {
  if (isTransient(error)) return new UnavailableError('The storage did not answer. Try again.', { cause: error })
  if (isUnprocessable(error)) return new InvalidInputError('body', `${error.message}.`, { cause: error })
  return error
}

/** What the JSON body parser throws. */
function isUnprocessable(error: unknown): error is Error {
  return error instanceof Error && 'statusCode' in error && error.statusCode === 422
}

function errorBody(error: SandkeepError): Record<string, unknown> {
  return {
    code: error.code,
    message: shorten(error.message),
    ...(error.field !== undefined && { field: shorten(error.field) }),
    ...(error instanceof BlobsMissingError && { keys: error.keys }),
    ...(error instanceof PayloadTooLargeError && error.upload !== undefined && { upload: error.upload }),
  }
}

/** Names that a caller chose stand in messages, and may be of any length. */
function shorten(text: string): string {
  return text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…`
}

function errorHeaders(error: SandkeepError): Record<string, string> {
  if (error instanceof UnauthenticatedError) return { 'www-authenticate': AUTHENTICATION_CHALLENGE }
  if (error instanceof MethodNotAllowedError) return { allow: error.allow }
  if (error instanceof UnavailableError) return { 'retry-after': RETRY_AFTER_SECONDS }
  if (error instanceof UpstreamError && error.retryAfter !== undefined) return { 'retry-after': error.retryAfter }
  return {}
}
