const originPattern = /^https?:\/\/[A-Za-z0-9.-]+(?::\d{1,5})?$/

/**
 * Origins as browsers send them, or `*`.
 * @throws Error naming one that no browser would send
 */
export function checkCorsOrigins(origins: readonly string[]): readonly string[] {
  for (const origin of origins) {
    if (origin === '*' || originPattern.test(origin)) continue
    throw new Error(`corsOrigins: ${JSON.stringify(origin)} must be * or an origin such as https://app.example.`)
  }
  return origins
}
