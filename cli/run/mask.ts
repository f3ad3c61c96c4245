const HIDDEN = Buffer.from('***')
/** What is shorter is no credential, and may stand in any text. */
const SHORTEST = 8

/** Hides secrets in a stream of bytes, also those that stand across its chunks. */
export class Mask {
  readonly #secrets: readonly Buffer[]
  #held: Uint8Array = new Uint8Array()

  constructor(secrets: ReadonlyArray<string | undefined>) {
    this.#secrets = secrets
      .filter((secret) => secret !== undefined)
      .filter((secret) => secret.length >= SHORTEST)
      .map((secret) => Buffer.from(secret))
  }

  /** The bytes so far, but for an end that a secret may begin with. */
  pass(chunk: Uint8Array): Uint8Array {
    if (this.#secrets.length === 0) return chunk
    let bytes = Buffer.concat([this.#held, chunk])
    for (const secret of this.#secrets) bytes = hide(bytes, secret)
    const end = bytes.length - Math.max(...this.#secrets.map((secret) => beginningAtEnd(bytes, secret)))
    this.#held = bytes.subarray(end)
    return bytes.subarray(0, end)
  }

  /** What is left at the end of the stream. */
  end(): Uint8Array {
    return this.#held
  }
}

function hide(bytes: Buffer, secret: Buffer): Buffer<ArrayBuffer> {
  const parts: Buffer[] = []
  let from = 0
  for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, from)) {
    parts.push(bytes.subarray(from, at), HIDDEN)
    from = at + secret.length
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}

/** How many of the last bytes are the first of the secret. */
function beginningAtEnd(bytes: Buffer, secret: Buffer): number {
  for (let length = Math.min(secret.length - 1, bytes.length); length > 0; length -= 1) {
    if (bytes.subarray(-length).equals(secret.subarray(0, length))) return length
  }
  return 0
}
