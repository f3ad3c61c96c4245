import type { ServerResponse } from 'node:http'

/** Tells each piece of an answer's body as it is written. */
export function onBody(response: ServerResponse, tell: (chunk: Uint8Array) => void): void {
  const { write, end } = response
  const pass = (chunk: unknown) => {
    if (typeof chunk === 'string') tell(Buffer.from(chunk))
    else if (chunk instanceof Uint8Array) tell(chunk)
  }
  response.write = (...given: unknown[]): boolean => {
    pass(given[0])
    return Reflect.apply(write, response, given)
  }
  response.end = (...given: unknown[]): ServerResponse => {
    pass(given[0])
    return Reflect.apply(end, response, given)
  }
}
