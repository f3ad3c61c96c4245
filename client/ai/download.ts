import { SandboxFileError } from './error.ts'
import type { FilesHttp } from './files-http.ts'

/**
 * The content of a file. Large ones are redirected to the storage, which gets none of our headers: fetch itself would
 * send the API key along. Browsers do not tell where a redirect leads; there fetch has to follow it.
 */
export async function downloadFile(http: FilesHttp, url: string): Promise<Response> {
  const { headers } = http.connection
  const response = await http.open({ method: 'GET', url, headers, redirect: 'manual' })
  if (response.type === 'opaqueredirect') return http.open({ method: 'GET', url, headers, redirect: 'follow' })
  if (response.status < 300) return response
  const location = response.headers.get('location') ?? ''
  await response.body?.cancel()
  if (!URL.canParse(location, url)) throw new SandboxFileError(502, 'invalid_answer', 'The redirect has no location.')
  return http.open({ method: 'GET', url: new URL(location, url).href, headers: {} })
}
