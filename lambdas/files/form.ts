import busboy from 'busboy'
import { InvalidInputError, PayloadTooLargeError, UnsupportedMediaTypeError } from '../../src/errors.ts'
import { INLINE_LIMIT_BYTES } from '../../src/limits.ts'
import { type ApiEvent, headerValues } from '../shared/request.ts'

const FORM_TYPE = 'multipart/form-data'
const formTypePattern = /^multipart\/form-data\s*;/i

/** What a form may have besides the bytes of its file: names, boundaries, fields. */
const FORM_OVERHEAD_BYTES = 65_536
const LIMITS = { fieldSize: 1_024, fields: 16, files: 2, parts: 18 }

export interface UploadForm {
  filename: string
  mimeType: string
  bytes: Buffer
  /** All but the file. */
  fields: Record<string, string>
}

/**
 * Reads a form with one file in the field `file`. Names are UTF-8, and nothing in them is percent-decoded.
 * @param upload the path to name in the refusal of a file over the inline limit
 * @throws UnsupportedMediaTypeError, PayloadTooLargeError, InvalidInputError naming the field
 */
export async function readForm(event: ApiEvent, upload: string): Promise<UploadForm> {
  const [type = '', ...others] = headerValues(event, 'content-type')
  if (others.length > 0 || !formTypePattern.test(type)) throw new UnsupportedMediaTypeError(FORM_TYPE)
  const body = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')
  if (body.length > INLINE_LIMIT_BYTES + FORM_OVERHEAD_BYTES) throw tooLarge(upload)
  const { file, fields } = await parse(type, body)
  if (!file) throw new InvalidInputError('file', 'The form needs a field file with a file that has a name.')
  if (file.bytes.length > INLINE_LIMIT_BYTES) throw tooLarge(upload)
  checkDecoded(file.filename, body)
  return { ...file, fields }
}

interface ParsedForm {
  file?: Omit<UploadForm, 'fields'>
  fields: Record<string, string>
}

function parse(contentType: string, body: Buffer): Promise<ParsedForm> {
  return new Promise((resolve, reject) => {
    // Without a prototype: a field may have any name.
    const form: ParsedForm = { fields: Object.create(null) }
    const refuse = (cause: unknown): void =>
      reject(new InvalidInputError('body', 'The body is no form as its content type says.', { cause }))
    const once = (name: string, there: boolean): void => {
      if (there) reject(new InvalidInputError(name, `The form field ${name} must stand once.`))
    }
    let parser: busboy.Busboy
    try {
      parser = busboy({
        headers: { 'content-type': contentType },
        defParamCharset: 'utf8',
        preservePath: true,
        limits: LIMITS,
      })
    } catch (cause) {
      refuse(cause)
      return
    }
    parser.on('field', (name: string | undefined, value, { valueTruncated }) => {
      if (name === undefined) return reject(unnamed())
      if (name === 'file') reject(new InvalidInputError('file', 'The form field file must be a file that has a name.'))
      if (valueTruncated) reject(new InvalidInputError(name, `The form field ${name} is too long.`))
      once(name, name in form.fields)
      form.fields[name] = value
    })
    parser.on('file', (name: string | undefined, stream, { filename, mimeType }) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', refuse)
      if (name === undefined) return reject(unnamed())
      if (name !== 'file') reject(new InvalidInputError(name, `${name} is not a known file of this form.`))
      once('file', form.file !== undefined)
      // A part of bytes may come without a name.
      if (filename !== undefined) {
        const file = { filename, mimeType, bytes: Buffer.alloc(0) }
        form.file = file
        stream.on('end', () => {
          file.bytes = Buffer.concat(chunks)
        })
      }
    })
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      parser.on(limit, () => reject(new InvalidInputError('body', 'The form has too many fields.')))
    }
    parser.on('error', refuse)
    parser.on('close', () => resolve(form))
    parser.end(body)
  })
}

const REPLACEMENT = '\ufffd'
const ENCODED_REPLACEMENT = /%ef%bf%bd/i

/** The parser puts a replacement character for bytes that are no UTF-8. @throws InvalidInputError */
function checkDecoded(filename: string, body: Buffer): void {
  if (!filename.includes(REPLACEMENT) || body.includes(REPLACEMENT)) return
  if (ENCODED_REPLACEMENT.test(body.toString('latin1'))) return
  throw new InvalidInputError('filename', 'filename must be UTF-8.')
}

function unnamed(): InvalidInputError {
  return new InvalidInputError('body', 'Every part of the form needs a name.')
}

function tooLarge(upload: string): PayloadTooLargeError {
  return new PayloadTooLargeError(`A file in a form may have at most ${INLINE_LIMIT_BYTES} bytes.`, {
    upload,
    field: 'file',
  })
}
