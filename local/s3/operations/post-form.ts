import type { Readable } from 'node:stream'
import busboy from 'busboy'
import { S3Error } from '../errors.ts'
import type { S3Request } from '../request.ts'

/** Bytes that all fields before the file may have. */
const maxFieldBytes = 20 * 1024

export interface PostForm {
  /** By lower-case name. */
  fields: ReadonlyMap<string, string>
  filename: string
  file: Readable
}

/**
 * Reads a form up to its file, which comes last: what follows it is ignored, as S3 does.
 * @param useFile is given the form; it must read the file to its end or fail
 * @throws S3Error MalformedPOSTRequest when the form is broken, InvalidArgument when it has no file
 */
export async function readPostForm<T>(request: S3Request, useFile: (form: PostForm) => Promise<T>): Promise<T> {
  const parser = openParser(request)
  const fields = new Map<string, string>()
  let size = 0
  return new Promise<T>((resolve, reject) => {
    let used: Promise<void> | undefined
    const fail = (error: unknown) => {
      parser.destroy()
      reject(error)
    }
    parser.on('field', (name, value, info) => {
      if (used) return
      size += name.length + value.length
      if (size > maxFieldBytes || info.valueTruncated || info.nameTruncated) {
        fail(new S3Error('MaxPostPreDataLengthExceeded'))
        return
      }
      fields.set(name.toLowerCase(), value)
    })
    parser.on('file', (name, file, info) => {
      if (used || name.toLowerCase() !== 'file') {
        file.resume()
        return
      }
      file.on('error', () => fail(new S3Error('MalformedPOSTRequest')))
      used = useFile({ fields, filename: info.filename ?? '', file }).then(resolve, fail)
    })
    parser.on('error', () => fail(new S3Error('MalformedPOSTRequest')))
    parser.on('close', () => {
      if (!used) fail(new S3Error('InvalidArgument', 'POST requires exactly one file upload per request.'))
    })
    feed(request, parser).catch(fail)
  })
}

function openParser(request: S3Request): busboy.Busboy {
  try {
    return busboy({
      headers: { 'content-type': request.headers['content-type'] ?? '' },
      defParamCharset: 'utf8',
      preservePath: true,
      limits: { fieldSize: maxFieldBytes, fieldNameSize: 1024, files: 1 },
    })
  } catch {
    throw new S3Error('MalformedPOSTRequest')
  }
}

async function feed(request: S3Request, parser: busboy.Busboy): Promise<void> {
  for await (const chunk of request.body) {
    // The rest of a refused form is read all the same: the next request of the connection comes behind it.
    if (parser.destroyed) continue
    if (!parser.write(chunk)) {
      await new Promise<void>((resolve) => {
        parser.once('drain', resolve)
        parser.once('close', resolve)
      })
    }
  }
  if (!parser.destroyed) parser.end()
}
