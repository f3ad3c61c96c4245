import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser'
import { S3Error } from './errors.ts'

type XmlValue = string | number | boolean | undefined | XmlElement | ReadonlyArray<XmlValue>
export interface XmlElement {
  readonly [name: string]: XmlValue
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
const namespace = 'http://s3.amazonaws.com/doc/2006-03-01/'

const builder = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@', suppressEmptyNode: true })
// Values stay text ("007" is no number) and keep their white space, which keys may begin or end with.
const parser = new XMLParser({
  ignoreAttributes: true,
  parseTagValue: false,
  trimValues: false,
  removeNSPrefix: true,
  htmlEntities: true,
})

/** Characters that a parser would drop, change or refuse, although keys may hold them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape
const unsafe = /[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]/g

/** A document with the root element and S3's namespace. Elements that are undefined are left out. */
export function buildXml(root: string, content: XmlElement, withNamespace = true): string {
  const element = withNamespace ? { '@xmlns': namespace, ...content } : content
  const text: string = builder.build({ [root]: element })
  return declaration + text.replace(unsafe, (character) => `&#x${character.charCodeAt(0).toString(16)};`)
}

/**
 * The root element of a document.
 * @throws S3Error MalformedXML when it is no well-formed XML or has another root.
 */
export function parseXml(body: Buffer, root: string): XmlElement {
  const text = body.toString('utf8')
  if (/<!DOCTYPE/i.test(text) || XMLValidator.validate(text) !== true) throw new S3Error('MalformedXML')
  const document: Record<string, unknown> = parser.parse(text)
  const element = document[root]
  if (element === '') return {}
  if (!isElement(element)) throw new S3Error('MalformedXML')
  return element
}

function isElement(value: unknown): value is XmlElement {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The child elements of that name, none or more; a child with text only is not an element. */
export function children(element: XmlElement, name: string): XmlElement[] {
  const value = element[name]
  if (value === undefined) return []
  const list: ReadonlyArray<XmlValue> = Array.isArray(value) ? value : [value]
  return list.map((child) => {
    if (!isElement(child)) throw new S3Error('MalformedXML')
    return child
  })
}

/** The texts of the child elements of that name. */
export function texts(element: XmlElement, name: string): string[] {
  const value = element[name]
  if (value === undefined) return []
  const list: ReadonlyArray<XmlValue> = Array.isArray(value) ? value : [value]
  return list.map((child) => {
    if (typeof child !== 'string') throw new S3Error('MalformedXML')
    return child
  })
}

/** The text of the one child element of that name, or undefined. */
export function text(element: XmlElement, name: string): string | undefined {
  const values = texts(element, name)
  if (values.length > 1) throw new S3Error('MalformedXML')
  return values[0]
}

/** Elements without the text nodes of white space between them, so that a stored document can be built again. */
export function withoutWhitespace(element: XmlElement): XmlElement {
  const clean = (value: XmlValue): XmlValue => {
    if (Array.isArray(value)) return value.map(clean)
    return isElement(value) ? withoutWhitespace(value) : value
  }
  return Object.fromEntries(
    Object.entries(element)
      .filter(([name]) => name !== '#text')
      .map(([name, value]) => [name, clean(value)]),
  )
}
