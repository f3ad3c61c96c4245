/** What is read of a step, finished now or kept as JSON: a step of the AI SDK's results is one. */
export interface SandboxStep {
  readonly providerMetadata?: Readonly<Record<string, unknown>> | undefined
  readonly content?: readonly unknown[] | undefined
}

/** Provider options that continue in a container. */
export type SandboxContainerOptions = { anthropic: { container: { id: string } } }

/**
 * The newest step's container. A call that ran no code says `null`, which does not mean that the one before it ended.
 */
export function lastContainerId(steps: readonly SandboxStep[]): string | null {
  return steps.map(containerIdOf).findLast((id) => id !== undefined) ?? null
}

/** For `prepareStep`: keeps the same container from step to step. */
export function forwardSandboxContainer({
  steps,
}: {
  readonly steps: readonly SandboxStep[]
}): { providerOptions: SandboxContainerOptions } | undefined {
  const providerOptions = reuseSandbox(lastContainerId(steps))
  return providerOptions && { providerOptions }
}

/**
 * For `providerOptions`: continues in a saved container. Undefined for a missing id. With the compiler option
 * `exactOptionalPropertyTypes` spread it in: `...(options && { providerOptions: options })`.
 */
export function reuseSandbox(containerId: string | null | undefined): SandboxContainerOptions | undefined {
  return containerId ? { anthropic: { container: { id: containerId } } } : undefined
}

function containerIdOf({ providerMetadata }: SandboxStep): string | undefined {
  const metadata = property(providerMetadata, 'anthropic')
  const id = property(property(metadata, 'container'), 'id')
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** A property of what may be anything. */
export function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
