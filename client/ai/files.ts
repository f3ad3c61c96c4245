import { InvalidInputError } from '../../src/errors.ts'
import { FILE_PAGE_SIZE } from '../../src/files/rules.ts'
import { checkScopeOption, connect } from './connection.ts'
import { downloadFile } from './download.ts'
import { asFileError, FilesHttp } from './files-http.ts'
import type { SandboxFile, SandboxFileList, SandboxFilesClient, SandboxFilesOptions, SandkeepAIEnv } from './types.ts'
import { uploadFile } from './upload.ts'

const FILES_PATH = '/sandbox/files/v1'

/**
 * A client of the app's sandbox files, for Node, workers and browsers.
 * @throws SandboxFileError with status 400, naming the variable of `env` or the option
 */
export function sandboxFiles(env: SandkeepAIEnv, options: SandboxFilesOptions = {}): SandboxFilesClient {
  const { connection, scope } = refusing(() => ({
    connection: connect(env, options),
    scope: checkScopeOption('scope', options.scope),
  }))
  const http = new FilesHttp(connection, options.signal)
  const base = connection.url + FILES_PATH
  const { headers } = connection
  return {
    upload: (file, uploadOptions = {}) =>
      uploadFile({ http, base, scope, ownFetch: options.fetch === undefined }, file, uploadOptions),
    get: async (fileId) => http.json<SandboxFile>({ method: 'GET', url: fileUrl(base, fileId), headers }),
    download: async (fileId) => downloadFile(http, `${fileUrl(base, fileId)}/content`),
    list: async ({ limit, page } = {}) =>
      http.json<SandboxFileList>({ method: 'GET', url: listUrl(base, limit, page), headers }),
    async delete(fileId) {
      // A repeat of a delete that was carried out would say that there is no such file.
      await http.run({ method: 'DELETE', url: fileUrl(base, fileId), headers }, { repeatable: false })
    },
  }
}

function fileUrl(base: string, fileId: string): string {
  // URLs swallow segments of dots, and half surrogates have no encoding.
  const isSegment = typeof fileId === 'string' && !['', '.', '..'].includes(fileId) && fileId.isWellFormed()
  if (!isSegment) throw asFileError(new InvalidInputError('fileId', 'fileId must be the id of a file.'))
  return `${base}/${encodeURIComponent(fileId)}`
}

function listUrl(base: string, limit: number | undefined, page: string | undefined): string {
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= FILE_PAGE_SIZE.most)) {
    const rule = `limit must be a whole number from 1 to ${FILE_PAGE_SIZE.most}.`
    throw asFileError(new InvalidInputError('limit', rule))
  }
  const query = new URLSearchParams({
    ...(limit !== undefined && { limit: String(limit) }),
    ...(page !== undefined && { page }),
  })
  return query.size === 0 ? base : `${base}?${query}`
}

function refusing<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw asFileError(error)
  }
}
