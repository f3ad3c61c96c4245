import { SandboxFileError } from './error.ts'
import type { FilesHttp } from './files-http.ts'

/**
 * The content of a file. Large ones lie in the storage, which gets none of our headers: were it a redirect, fetch would
 * send the API key along.
 */
export async function downloadFile(http: FilesHttp, url: string): Promise<Response> {
  const { headers } = http.connection
  const response = await http.open({ method: 'GET', url: `${url}?redirect=manual`, headers })
  const location = response.headers.get('x-sandbox-location')
  if (location === null) return response
  await response.body?.cancel()
  if (!URL.canParse(location)) throw new SandboxFileError(502, 'invalid_answer', 'The file has no location.')
  return http.open({ method: 'GET', url: location, headers: {} })
}
