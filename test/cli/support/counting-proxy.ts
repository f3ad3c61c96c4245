import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Stands before an API, counts the requests and tells of each before and after it is carried out. */
export interface CountingProxy {
  url: string
  /** Of the current run. */
  requests: string[]
  /** Told the number of the request, from 1; may end the process that sent it. */
  onRequest: (number: number, when: 'before' | 'after') => void
  stop(): Promise<void>
}

export async function startProxy(target: string): Promise<CountingProxy> {
  const proxy: CountingProxy = {
    url: '',
    requests: [],
    onRequest: () => undefined,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const number = proxy.requests.push(`${request.method} ${request.url}`)
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    proxy.onRequest(number, 'before')
    // Its sender may be gone by now, or it may be on its way all the same: as after a real kill.
    const { host: _host, connection: _connection, ...headers } = request.headers
    const answered = await fetch(target + request.url, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      redirect: 'manual',
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    })
    const body = Buffer.from(await answered.arrayBuffer())
    proxy.onRequest(number, 'after')
    const {
      'content-encoding': _encoding,
      'transfer-encoding': _transfer,
      ...rest
    } = Object.fromEntries(answered.headers)
    response.writeHead(answered.status, { ...rest, 'content-length': body.length }).end(body)
  }
  const server = createServer((request, response) => {
    // The other side may go away at any time.
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return proxy
}
