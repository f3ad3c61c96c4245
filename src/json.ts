/**
 * JSON text that keeps -0: what `JSON.parse` gives back of it equals the value that went in. Otherwise as
 * `JSON.stringify`: half surrogates are escaped, `undefined` properties left out.
 */
export function stringifyJson(value: unknown): string {
  return JSON.stringify(value, keepNegativeZero)
}

function keepNegativeZero(_key: string, value: unknown): unknown {
  return value === 0 && Object.is(value, -0) ? rawJson('-0') : value
}

// In V8 since Node 21; not yet in the compiler's library.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown }
