import type { FileRequest, Send } from './files-http.ts'
import type { SandboxUploadOptions, SandboxUploadProgress } from './types.ts'

const PIECE_BYTES = 65_536

/**
 * The body to send, and what sends it, so that progress is told where the runtime can tell. Browsers tell it of
 * XMLHttpRequest alone; Node reads a body piece by piece as the bytes go out.
 */
export function withProgress<Body extends Blob>(
  body: Body,
  { onProgress }: SandboxUploadOptions,
  ownFetch: boolean,
): { body: Body; send?: Send } {
  if (!onProgress) return { body }
  const total = body.size
  const tell = (loaded: number) => onProgress({ loaded: Math.min(loaded, total), total })
  const { XMLHttpRequest: Request } = globalThis as { XMLHttpRequest?: XhrClass }
  if (ownFetch && Request !== undefined) return { body, send: sendByXhr(Request, tell) }
  return { body: countReads(body, tell) }
}

/** The same file, which tells how much of it was read each time that it is. */
function countReads<Body extends Blob>(body: Body, tell: (loaded: number) => void): Body {
  const stream = () => {
    let loaded = 0
    return new ReadableStream(
      {
        async pull(controller) {
          const piece = body.slice(loaded, loaded + PIECE_BYTES)
          if (piece.size === 0) return controller.close()
          controller.enqueue(new Uint8Array(await piece.arrayBuffer()))
          loaded += piece.size
          tell(loaded)
        },
      },
      { highWaterMark: 0 },
    )
  }
  const copy =
    body instanceof File ? new File([body], body.name, { type: body.type }) : new Blob([body], { type: body.type })
  return Object.defineProperty(copy, 'stream', { value: stream }) as Body
}

/** As much of XMLHttpRequest as is used here: its types come only with those of all of a browser. */
interface Xhr {
  readonly upload: { onprogress: ((event: SandboxUploadProgress) => void) | null }
  readonly status: number
  readonly responseText: string
  onload: (() => void) | null
  onerror: (() => void) | null
  onabort: (() => void) | null
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  send(body: FileRequest['body']): void
  abort(): void
  getAllResponseHeaders(): string
}

type XhrClass = new () => Xhr

function sendByXhr(Request: XhrClass, tell: (loaded: number) => void): Send {
  return ({ method, url, headers, body }, signal) =>
    new Promise((resolve, reject) => {
      const request = new Request()
      const end = () => request.abort()
      const over = (settle: () => void) => () => {
        signal.removeEventListener('abort', end)
        settle()
      }
      request.open(method, url)
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
      request.upload.onprogress = ({ loaded }) => tell(loaded)
      request.onload = over(() => resolve(answerOf(request)))
      request.onerror = over(() => reject(new TypeError('The request failed.')))
      request.onabort = over(() => reject(signal.reason))
      signal.addEventListener('abort', end)
      request.send(body)
    })
}

function answerOf(request: Xhr): Response {
  const lines = request.getAllResponseHeaders().split('\r\n').filter(Boolean)
  const headers = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
  // Statuses without a body must have none here.
  const text = [204, 205, 304].includes(request.status) ? null : request.responseText
  return new Response(text, { status: request.status, headers: Object.fromEntries(headers) })
}
