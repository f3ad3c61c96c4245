import { SandkeepHttpError } from './errors.ts'

/** What the work gives, or null when the API says that what it asks for is not there. */
export async function orNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SandkeepHttpError && error.code === 'not_found') return null
    throw error
  }
}
