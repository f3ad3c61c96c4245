/** Tests, by name, that moto cannot pass, each with the reason. Where it differs from AWS's documentation, that counts. */
export const motoCannot: Readonly<Record<string, string>> = {}
