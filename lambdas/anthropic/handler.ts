import { CONTAINER_LIFE_MS, type ContainerRecord } from '../../src/anthropic/containers.ts'
import { type MessagesRequest, passMessages } from '../../src/anthropic/messages.ts'
import { createRegistry, type Registry } from '../../src/anthropic/registry.ts'
import { SandkeepError } from '../../src/errors.ts'
import { actingUser, userOf } from '../shared/acting-user.ts'
import { parseInput } from '../shared/action.ts'
import { json } from '../shared/answer.ts'
import type { FilesHandlerConfig } from '../shared/files-config.ts'
import { log } from '../shared/log.ts'
import type { StreamCall } from '../shared/request.ts'
import { createStreamHandler, type StreamAction, type StreamHandler } from '../shared/stream.ts'
import { timestamp } from '../shared/timestamp.ts'
import { errorShape } from './error-shape.ts'
import { requestContent } from './request-content.ts'
import { ROUTES } from './routes.ts'
import { listInput } from './schemas.ts'

/** The proxy of Anthropic's Messages API, which keeps each caller to the containers and files of its own. */
export function createHandler(config: FilesHandlerConfig): StreamHandler {
  const registryOf = ({ scope, ...call }: StreamCall): Registry =>
    createRegistry({ ...config, scope, user: userOf(call) })

  const messages: StreamAction = async (call) => {
    const { anthropic } = config
    if (!anthropic) throw new SandkeepError(501, 'not_configured', 'This deployment has no API key of Anthropic.')
    const context = {
      connection: anthropic,
      registry: registryOf(call),
      onLeftover: (error: unknown) => log('WARN', 'The use of a container was not noted.', { error }),
    }
    const { status, headers, body } = await passMessages(context, call.body as MessagesRequest, call.signal)
    return { statusCode: status, headers, body: Buffer.isBuffer(body) ? onePiece(body) : body }
  }

  const containers: StreamAction = async (call) => {
    const { containers, nextPage } = await registryOf(call).list(parseInput(listInput, call.body))
    return json(200, { data: containers.map(shownContainer), next_page: nextPage })
  }

  return createStreamHandler({
    routes: ROUTES,
    corsOrigins: config.corsOrigins,
    body: [errorShape(), actingUser(), requestContent()],
    actions: { messages, containers },
  })
}

/** Bytes go as they are; a text would be written anew. */
async function* onePiece(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

function shownContainer({ id, scope, createdAt, lastUsedAt }: ContainerRecord) {
  return {
    id,
    scope,
    created_at: timestamp(createdAt),
    last_used_at: timestamp(lastUsedAt),
    expires_at: timestamp(createdAt + CONTAINER_LIFE_MS),
  }
}
