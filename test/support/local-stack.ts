import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startLocalStack as start } from '../../local/index.ts'
import type { LocalStack, LocalStackOptions } from '../../local/stack.ts'
import { onBody } from './answer-body.ts'
import { AnswerChecker, isJson } from './answer-check.ts'

export type { LocalStack, LocalStackOptions }

/** The whole stack, whose every answer is held to the description of the API: `stop` throws where one is not in it. */
export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalStack> {
  const stack = await start(options)
  const checker = new AnswerChecker()
  const stopWatching = watch(Number(new URL(stack.url).port), checker)
  return {
    ...stack,
    async stop() {
      await stack.stop()
      stopWatching()
      checker.verify()
    },
  }
}

interface RequestStart {
  request: IncomingMessage
  response: ServerResponse
  server: Server
}

/** Sees all answers of this process's server on a port, whoever asks and however. */
function watch(port: number, checker: AnswerChecker): () => void {
  const onRequest = (message: unknown): void => {
    const { request, response, server } = message as RequestStart
    if ((server.address() as AddressInfo | null)?.port === port) check(request, response, checker)
  }
  subscribe('http.server.request.start', onRequest)
  return () => unsubscribe('http.server.request.start', onRequest)
}

function check({ method = '', url = '' }: IncomingMessage, response: ServerResponse, checker: AnswerChecker): void {
  const chunks: Buffer[] = []
  onBody(response, (chunk) => {
    if (isJson(String(response.getHeader('content-type')))) chunks.push(Buffer.from(chunk))
  })
  response.once('finish', () => {
    const contentType = response.getHeader('content-type')?.toString()
    const text = isJson(contentType) ? Buffer.concat(chunks).toString() : undefined
    checker.check({ method, path: url.split('?')[0] ?? '', status: response.statusCode, contentType, text })
  })
}
